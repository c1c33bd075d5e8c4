// Package pets defines the domain of the service: pets, the interface of their
// store, and the kinds of errors. It imports only the standard library and
// knows nothing about HTTP, SQL or the OpenAPI document.
package pets

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Status is the availability of a pet.
type Status string

const (
	Available Status = "available"
	Pending   Status = "pending"
	Sold      Status = "sold"
)

// Valid reports whether s is one of the statuses.
func (s Status) Valid() bool { return s == Available || s == Pending || s == Sold }

// MaxID is the greatest identifier that a store assigns: 2^53-1, the greatest
// integer that JavaScript's numbers represent exactly.
const MaxID = 1<<53 - 1

// NewPet is a pet before it has an identifier. The tags are for Fingerprint.
type NewPet struct {
	Name       string `json:",omitzero"` // any Unicode text without U+0000
	CategoryID int64  `json:",omitzero"`
	Status     Status `json:",omitzero"` // one of the statuses; see WithDefaults

	Idempotency Idempotency `json:"-"` // makes it safe to repeat the creation; not part of the pet
}

// Pet is a stored pet.
type Pet struct {
	ID         int64 // 1 to MaxID
	Name       string
	CategoryID int64
	Status     Status
}

// WithDefaults returns p with the status Available if it has none.
func (p NewPet) WithDefaults() NewPet {
	if p.Status == "" {
		p.Status = Available
	}
	return p
}

// WithID returns p as a pet with the identifier id.
func (p NewPet) WithID(id int64) Pet {
	return Pet{ID: id, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
}

// WithoutID returns p without its identifier.
func (p Pet) WithoutID() NewPet {
	return NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
}

// Validate returns an Invalid error for the first value that stores do not accept.
// The OpenAPI document has the same rules; Validate is for callers that bypass it.
func (p NewPet) Validate() error {
	key := p.Idempotency.Key
	unprintable := strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' })
	switch {
	case !utf8.ValidString(p.Name):
		return &Error{Kind: Invalid, Message: "name must be Unicode text"}
	case strings.ContainsRune(p.Name, 0):
		return &Error{Kind: Invalid, Message: "name must not contain U+0000"}
	case !p.Status.Valid():
		return &Error{Kind: Invalid, Message: "status must be one of available, pending, sold"}
	case !p.Idempotency.IsZero() && (key == "" || len(key) > 255 || unprintable):
		return &Error{Kind: Invalid, Message: "an idempotency key must be 1 to 255 printable ASCII characters"}
	}
	return nil
}

// Idempotency identifies a create request, so that repeating it does not create a
// second pet. The zero value means that the request has no idempotency key.
type Idempotency struct {
	KeyID string // the ID of the API key, which scopes Key
	Key   string // 1 to 255 printable ASCII characters
}

func (i Idempotency) IsZero() bool { return i == Idempotency{} }

// Fingerprint identifies the values of p. It leaves out zero values, so a new field
// does not change the fingerprints of pets without it.
func (p NewPet) Fingerprint() []byte {
	text, _ := json.Marshal(p) // its fields are plain values
	sum := sha256.Sum256(text)
	return sum[:]
}

// CheckRepeat returns a Reused error unless fingerprint, of the request that first
// used p's idempotency key, is p's.
func (p NewPet) CheckRepeat(fingerprint []byte) error {
	if !bytes.Equal(p.Fingerprint(), fingerprint) {
		return &Error{Kind: Reused, Message: "this Idempotency-Key was used for another pet; send a new key for a new pet"}
	}
	return nil
}

// Query selects pets.
type Query struct {
	Status Status // only pets with this status; "" selects all
	After  int64  // only pets with a greater identifier
	Limit  int    // at most this many pets; at least 1
}

// Page is one page of a list of pets.
type Page struct {
	Pets []Pet
	More bool // whether further pets follow the last of Pets
}

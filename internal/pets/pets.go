// Package pets defines the domain of the service: pets, the rules for their values, and
// the interface of their store. It imports only the standard library and fault, and
// knows nothing about HTTP, SQL or the OpenAPI document.
package pets

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"

	"example.com/petstore/engine/fault"
)

// Status is the availability of a pet.
type Status string

const (
	Available Status = "available"
	Pending   Status = "pending"
	Sold      Status = "sold"
)

// MaxID is the greatest identifier that a store assigns: 2^53-1, the greatest
// integer that JavaScript's numbers represent exactly.
const MaxID = 1<<53 - 1

// NewPet is what a client says about a pet. The tags are for Fingerprint.
type NewPet struct {
	Name       string `json:",omitzero"` // any Unicode text without U+0000
	CategoryID int64  `json:",omitzero"`
	Status     Status `json:",omitzero"` // one of the statuses; see WithDefaults
}

// Pet is a stored pet.
type Pet struct {
	ID int64 // 1 to MaxID
	NewPet
}

// texts returns the texts of p, whose size ends a page.
func (p *NewPet) texts() []string { return []string{p.Name} }

// WithDefaults returns p with the status Available if it has none.
func (p NewPet) WithDefaults() NewPet {
	if p.Status == "" {
		p.Status = Available
	}
	return p
}

// IdempotencyKey identifies a create request, so that repeating it does not create a
// second pet. The zero value means that the request has none.
type IdempotencyKey struct {
	KeyID string // the ID of the API key, which scopes Key
	Key   string // 1 to 255 printable ASCII characters
}

func (k IdempotencyKey) IsZero() bool { return k == IdempotencyKey{} }

// Fingerprint identifies the values of p. It leaves out zero values, so a new field
// does not change the fingerprints of pets without it.
func (p NewPet) Fingerprint() []byte {
	text, _ := json.Marshal(p) // its fields are plain values
	sum := sha256.Sum256(text)
	return sum[:]
}

// CheckRepeat returns an IdempotencyKeyReused error unless fingerprint, of the request that first
// used an idempotency key, is p's.
func (p NewPet) CheckRepeat(fingerprint []byte) error {
	if !bytes.Equal(p.Fingerprint(), fingerprint) {
		return fault.New(fault.IdempotencyKeyReused,
			"this Idempotency-Key was used for another pet; send a new key for a new pet")
	}
	return nil
}

// ListQuery selects pets.
type ListQuery struct {
	Status Status // only pets with this status; "" selects all
	After  int64  // only pets with a greater identifier
	Limit  int    // at most this many pets; at least 1
}

// MaxPageText is the total size of texts, in bytes, at which a page ends.
const MaxPageText = 32 << 10

// ListPage is one page of a list of pets. Stores build it with Add.
type ListPage struct {
	Pets []Pet
	More bool // whether further pets follow the last of Pets

	textSize int
}

// Add adds the next pet that the query selects, and reports whether it fit. A page is
// full with limit pets, or with the pet that brings its texts to MaxPageText bytes.
func (page *ListPage) Add(p Pet, limit int) bool {
	if len(page.Pets) == limit || page.textSize >= MaxPageText {
		page.More = true
		return false
	}
	for _, t := range p.texts() {
		page.textSize += len(t)
	}
	if page.Pets == nil {
		page.Pets = make([]Pet, 0, limit)
	}
	page.Pets = append(page.Pets, p)
	return true
}

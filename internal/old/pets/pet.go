// Package pets is the map of the service: its vocabulary (Pet, Status,
// Key), its rules, the Store contract and the kinds of errors. It knows
// nothing of HTTP, SQL or the document, and imports only the standard library.
package pets

import (
	"strings"
	"unicode/utf8"
)

// Status is the availability of a pet.
type Status string

// The statuses a pet can have.
const (
	Available Status = "available"
	Pending   Status = "pending"
	Sold      Status = "sold"
)

// Statuses returns every status, in the order of the document.
func Statuses() []Status { return []Status{Available, Pending, Sold} }

// Valid reports whether s is one of Statuses.
func (s Status) Valid() bool { return s == Available || s == Pending || s == Sold }

// MaxID is the greatest identifier a store may assign: 2^53-1, the last
// integer that JavaScript's numbers (IEEE 754 binary64) keep whole.
const MaxID = 1<<53 - 1

// NewPet is a pet before it has an identifier. Its properties are those of Pet, and
// are comparable values: see Repeats.
type NewPet struct {
	Name       string // any Unicode text without U+0000
	CategoryID int64  // any value
	Status     Status // one of Statuses; WithDefaults fills it

	Idempotency Idempotency // makes it safe to send again; not part of the pet
}

// Pet is a stored pet. It never changes.
type Pet struct {
	ID         int64 // 1 to MaxID, ascending in the order of creation within one process
	Name       string
	CategoryID int64
	Status     Status
}

// WithDefaults returns p with the status Available where it names none.
func (p NewPet) WithDefaults() NewPet {
	if p.Status == "" {
		p.Status = Available
	}
	return p
}

// Validate returns an Invalid error that names the first value no store
// accepts, or nil. The document says the same; this is the last guard for
// callers that do not come through it.
func (p NewPet) Validate() error {
	if strings.ContainsRune(p.Name, 0) {
		return &Error{Kind: Invalid, Message: "name must not contain U+0000"}
	}
	if !utf8.ValidString(p.Name) {
		return &Error{Kind: Invalid, Message: "name must be Unicode text"}
	}
	if !p.Status.Valid() {
		return &Error{Kind: Invalid, Message: "status must be one of available, pending, sold"}
	}
	return p.Idempotency.validate()
}

// WithID returns the pet that p becomes once a store has assigned id. WithoutID is the
// way back.
func (p NewPet) WithID(id int64) Pet {
	return Pet{ID: id, Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
}

// WithoutID returns p as it was before it had an identifier.
func (p Pet) WithoutID() NewPet {
	return NewPet{Name: p.Name, CategoryID: p.CategoryID, Status: p.Status}
}

package pets

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Store keeps pets. Package storetest tests every implementation.
//
// All methods are safe for concurrent use. They return soon after their context
// ends, or once the outcome of a write in progress is known. Any of them may fail
// with Unavailable, in which case nothing was done, or with Internal; the comments
// below mention only other kinds.
type Store interface {
	// CreatePet stores p durably and returns it with its identifier.
	// Identifiers start at 1, are never reused and may have gaps. If ctx ends
	// before the pet is stored, either nothing was done (Unavailable) or the
	// outcome is unknown (Internal).
	//
	// All calls with the same p.Idempotency, concurrent or not, in this
	// process or another, create one pet and return it as it is stored now, or
	// fail with ErrRemoved if an operator has removed it.
	//
	// It fails with Invalid if p.Validate does, and with Reused if the
	// idempotency key was first used with other values; see CheckRepeat.
	CreatePet(ctx context.Context, p NewPet) (Pet, error)

	// Pet returns the pet with the identifier id, or NotFound.
	Pet(ctx context.Context, id int64) (Pet, error)

	// Pets returns the first q.Limit pets that q selects, in ascending order
	// of their identifiers. A walk that passes the last identifier of each
	// page as the next q.After returns every pet acknowledged before the walk
	// began exactly once.
	Pets(ctx context.Context, q Query) (Page, error)

	// Load stores all of pets in one transaction and in their order, and
	// returns their number: either all are stored durably or none. It stops
	// at the first error that pets yields and returns it unchanged. It fails
	// with Invalid if a pet's Validate does. Internal means that either all
	// or none are stored. pets must not use the store.
	Load(ctx context.Context, pets iter.Seq2[NewPet, error]) (int, error)

	// LoadWithIDs is like Load for pets that keep their identifiers. It fails
	// with ErrNotEmpty if the store holds pets, and with Invalid unless the
	// identifiers ascend and lie between 1 and MaxID. Pets created later have
	// greater identifiers.
	LoadWithIDs(ctx context.Context, pets iter.Seq2[Pet, error]) (int, error)

	// Ping reports whether the store can serve requests; /readyz calls it. It
	// fails if the store is unreachable or if its file was replaced or is
	// corrupt. A full disk is not a failure, because reads still work.
	Ping(ctx context.Context) error

	// Failed returns a channel that delivers one error if the store can no
	// longer vouch for the writes it acknowledges, for example after a failed
	// fsync. The program must then exit. The channel is nil for stores that
	// cannot fail this way.
	Failed() <-chan error

	// Close completes the writes in progress, rejects new ones and releases
	// all resources. Calls after the first do nothing.
	Close() error
}

// Kind classifies an error by what its caller can do about it.
type Kind string

// The kinds of errors. An error of another type is Internal; see KindOf.
const (
	Internal    Kind = "internal"    // the service failed; a write may or may not have happened
	Invalid     Kind = "invalid"     // the caller's value will never be accepted
	NotFound    Kind = "not found"   // there is no such pet
	Reused      Kind = "reused"      // the idempotency key was used with other values
	Unavailable Kind = "unavailable" // nothing was done; it is safe to try again later
)

// Error is an error with a kind.
type Error struct {
	Kind    Kind
	Message string // written for the client if Kind is Invalid, NotFound or Reused, else for the operator
	Err     error  // the cause, for the log; may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's tree, or Internal.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// NoSuchPet returns the NotFound error for a pet.
func NoSuchPet(id int64) error {
	return &Error{Kind: NotFound, Message: fmt.Sprintf("there is no pet with id %d", id)}
}

// Errors that all stores share.
var (
	ErrClosed   = &Error{Kind: Unavailable, Message: "the store is closed"}
	ErrRemoved  = &Error{Kind: Reused, Message: "the pet of this Idempotency-Key was removed; send a new key for a new pet"}
	ErrNotEmpty = &Error{Kind: Invalid, Message: "the store already holds pets; restore into an empty store"}
)

// Validated yields the pets that Load stores, with the identifier 0, up to the
// first error. All stores use it, or ValidatedWithIDs, so that they reject the
// same input.
func Validated(all iter.Seq2[NewPet, error]) iter.Seq2[Pet, error] {
	return validated(all, func(p NewPet, _ int64) (Pet, error) { return p.WithID(0), p.Validate() })
}

// ValidatedWithIDs yields the pets that LoadWithIDs stores, up to the first
// error.
func ValidatedWithIDs(all iter.Seq2[Pet, error]) iter.Seq2[Pet, error] {
	return validated(all, func(p Pet, last int64) (Pet, error) {
		if err := p.WithoutID().Validate(); err != nil {
			return p, err
		}
		return p, CheckNextID(p.ID, last)
	})
}

// validated passes each pet to check, with the identifier of the one before it.
func validated[P any](all iter.Seq2[P, error], check func(p P, last int64) (Pet, error)) iter.Seq2[Pet, error] {
	return func(yield func(Pet, error) bool) {
		n, last := 0, Pet{}
		for p, err := range all {
			n++
			if err == nil {
				if last, err = check(p, last.ID); err != nil {
					err = &Error{Kind: Invalid, Message: fmt.Sprintf("pet %d", n), Err: err}
				}
			}
			if !yield(last, err) || err != nil {
				return
			}
		}
	}
}

// CheckNextID returns an Invalid error unless id is valid and greater than last,
// the identifier of the pet loaded before it, or 0 if there is none.
func CheckNextID(id, last int64) error {
	switch {
	case id < 1 || id > MaxID:
		return &Error{Kind: Invalid, Message: fmt.Sprintf("id must be between 1 and %d", int64(MaxID))}
	case id <= last:
		return &Error{Kind: Invalid, Message: fmt.Sprintf("id must be greater than the one before it, %d", last)}
	}
	return nil
}

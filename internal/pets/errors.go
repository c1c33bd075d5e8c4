package pets

import (
	"errors"
	"fmt"
)

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
	ErrNotEmpty = &Error{Kind: Invalid, Message: "the store already holds pets; restore into an empty store"}
)

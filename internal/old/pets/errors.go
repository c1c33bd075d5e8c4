package pets

import (
	"errors"
	"fmt"
)

// Kind classes an error by the side that can mend it: client, service or time.
type Kind int

// The kinds of errors. Internal is the zero value: an error without a kind is the
// service's own fault.
const (
	Internal    Kind = iota // the service failed; for a write, it may have happened
	Invalid                 // the caller's value can never be accepted
	NotFound                // there is no such pet or key
	Reused                  // the idempotency key was used for another pet
	Unavailable             // not now; nothing was done, and trying again is safe
)

// Kinds returns every kind, for tests and tables that must cover them all.
func Kinds() []Kind { return []Kind{Internal, Invalid, NotFound, Reused, Unavailable} }

func (k Kind) String() string {
	switch k {
	case Invalid:
		return "invalid"
	case NotFound:
		return "not found"
	case Reused:
		return "reused"
	case Unavailable:
		return "unavailable"
	default:
		return "internal"
	}
}

// Error is an error with a kind.
type Error struct {
	Kind    Kind
	Message string // for the client where Kind is Invalid, NotFound or Reused, else for the operator
	Err     error  // the cause, for the log; may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// FileFault is an error of Ping that lies in the store's file: it is gone, another one,
// or damaged.
type FileFault struct{ Err error }

func (e *FileFault) Error() string { return e.Err.Error() }

func (e *FileFault) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's chain, and Internal
// where there is none.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Internal
}

// NoSuchPet is the NotFound error of every store for a pet.
func NoSuchPet(id int64) error {
	return &Error{Kind: NotFound, Message: fmt.Sprintf("there is no pet with id %d", id)}
}

// NoSuchKey is the NotFound error of every store for a key.
func NoSuchKey(id string) error {
	return &Error{Kind: NotFound, Message: fmt.Sprintf("there is no key with id %q", id)}
}

// The errors that every store has in common.
var (
	ErrClosed = &Error{Kind: Unavailable, Message: "the store is closed"}
	ErrGaveUp = &Error{Kind: Unavailable, Message: "the caller gave up waiting for the store"}
)

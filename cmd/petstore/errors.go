package main

import (
	"errors"
)

// usageError is a command line, or a variable in its place, that makes no sense.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// uncheckedError ends a check that says neither that the contract holds nor that it
// does not.
type uncheckedError struct{ error }

func (u uncheckedError) Unwrap() error { return u.error }

// exitStatus returns the exit status of the process, as a shell would have it: 128
// and the signal's number after a signal.
func exitStatus(err error) int {
	if i, ok := errors.AsType[*interruption](err); ok {
		return 128 + int(i.signal)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	if _, ok := errors.AsType[uncheckedError](err); ok {
		return 2
	}
	return 1
}

package main

import (
	"errors"

	"example.com/petstore/internal/edge/program"
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
	status := program.ExitStatus(err)
	_, usage := errors.AsType[usageError](err)
	_, unchecked := errors.AsType[uncheckedError](err)
	if status == 1 && (usage || unchecked) {
		return 2
	}
	return status
}

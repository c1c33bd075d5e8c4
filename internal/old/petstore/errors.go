package main

import (
	"context"
	"errors"

	"example.com/petstore/internal/old/edge/program"
)

// uncheckedError ends a check that says neither that the contract holds nor that it
// does not.
type uncheckedError struct{ error }

func (u uncheckedError) Unwrap() error { return u.error }

// interruptedError is the error of a command whose context ended. Its message says
// how far the command's work has come.
type interruptedError struct {
	message string
	cause   error
}

func (e *interruptedError) Error() string { return e.message }

func (e *interruptedError) Unwrap() error { return e.cause }

// interrupted returns the error of a command whose context has ended.
func interrupted(ctx context.Context, message string) error {
	return &interruptedError{message, context.Cause(ctx)}
}

// exitStatus returns the exit status of the process, which -h of the program has in a
// table.
func exitStatus(err error) int {
	status := program.ExitStatus(err)
	if _, unchecked := errors.AsType[uncheckedError](err); unchecked && status == 1 {
		return 2
	}
	return status
}

package main

import "context"

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

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruption is the cause of a context that a signal has ended.
type interruption struct{ signal syscall.Signal }

func (i *interruption) Error() string { return i.signal.String() }

// untilSignal returns a context that SIGINT or SIGTERM ends, the cause being an
// interruption. After the first signal a second one kills the program.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&interruption{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

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

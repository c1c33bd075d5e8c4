package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// usageError is a command line, or a variable, that makes no sense.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// interruption is the error of a command that a signal ended.
type interruption struct {
	signal  syscall.Signal
	message string
}

func (i *interruption) Error() string { return i.message }

// untilSignal returns a context that SIGINT or SIGTERM ends, with an
// *interruption as its cause. A second signal kills the program.
func untilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&interruption{signal: s.(syscall.Signal), message: s.String()})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// interrupted returns the error of a command whose context has ended.
func interrupted(ctx context.Context, message string) error {
	if i, ok := errors.AsType[*interruption](context.Cause(ctx)); ok {
		return &interruption{signal: i.signal, message: message}
	}
	return errors.New(message)
}

// exitStatus returns the exit status of a process that ends with err.
func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	if i, ok := errors.AsType[*interruption](err); ok {
		return 128 + int(i.signal)
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

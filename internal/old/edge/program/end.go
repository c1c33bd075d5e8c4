package program

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// UsageError is a command line, or a variable in its place, that makes no sense.
type UsageError struct{ Err error }

func (u UsageError) Error() string { return u.Err.Error() }

func (u UsageError) Unwrap() error { return u.Err }

// Misuse returns a UsageError with that text, as fmt.Errorf makes it.
func Misuse(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Interruption is the cause of a context that a signal has ended.
type Interruption struct{ Signal syscall.Signal }

func (i *Interruption) Error() string { return i.Signal.String() }

// UntilSignal returns a context that SIGINT or SIGTERM ends, the cause being an
// *Interruption. After the first signal a second one kills the program.
func UntilSignal(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(&Interruption{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// ExitStatus returns the exit status of a program that ends with err, as a shell
// would have it: 0 without an error, and 2 for a command line that makes no sense.
// After a signal it is 128 and the signal's number, else 1.
func ExitStatus(err error) int {
	if err == nil {
		return 0
	}
	if i, ok := errors.AsType[*Interruption](err); ok {
		return 128 + int(i.Signal)
	}
	if _, ok := errors.AsType[UsageError](err); ok {
		return 2
	}
	return 1
}

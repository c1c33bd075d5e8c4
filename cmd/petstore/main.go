// Command petstore is the pet store service: `petstore serve` answers the
// operations of openapi.yaml, `petstore keys` manages the API keys that open it,
// `petstore import` and `petstore export` bring pets in and out by the file,
// `petstore check` holds any server against the contract.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

func main() {
	os.Exit(run(context.Background(), world{
		args:     os.Args[1:],
		getenv:   os.Getenv,
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		watched:  term.IsTerminal(int(os.Stderr.Fd())),
		terminal: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
	}))
}

// world is all that a command sees of its surroundings.
type world struct {
	args           []string
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	watched        bool // whether a person watches standard error
	terminal       bool // whether a person sits before all three
}

// run runs one command and returns the exit status of the process: 0, 1 for a
// failure, 2 for a command line that makes no sense or a check that could not be
// made.
func run(ctx context.Context, w world) int {
	root := rootCommand(w)
	root.SetArgs(w.args)
	root.SetIn(w.stdin)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(w.stderr, "petstore: "+err.Error())
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	if _, ok := errors.AsType[uncheckedError](err); ok {
		return 2
	}
	return 1
}

// usageError is a command line, or a variable in its place, that makes no sense.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

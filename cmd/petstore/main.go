// Command petstore is the pet store service, with the commands to manage its
// keys, animals and backups.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

func main() {
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	os.Exit(run(context.Background(), os.Args[1:], environment{
		getenv:      os.Getenv,
		stdin:       os.Stdin,
		stdout:      os.Stdout,
		stderr:      os.Stderr,
		terminal:    isTerminal(os.Stderr),
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout) && isTerminal(os.Stderr),
	}))
}

// environment is what a command sees of the process around it.
type environment struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal
	interactive    bool // stdin, stdout and stderr are a terminal
}

// run runs one command and returns the exit status of the process.
func run(ctx context.Context, args []string, env environment) int {
	parsed := false
	root := rootCommand(env, func() { parsed = true })
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	text := "petstore: " + strings.TrimSpace(err.Error())
	if !parsed {
		text, err = text+"\nSee "+cmd.CommandPath()+" -h.", usageError{err}
	}
	fmt.Fprintln(env.stderr, printable(text))
	return exitStatus(err)
}

// Command petstore is the pet store service. `petstore serve` serves the operations
// of openapi.yaml, and `petstore keys` manages the API keys that open it. `petstore
// import` and `petstore export` bring animals in and out by the file. `petstore check`
// holds any server against the contract.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

func main() {
	columns, _, _ := term.GetSize(int(os.Stdout.Fd())) // 0 where it is no terminal
	os.Exit(run(context.Background(), environment{
		args:             os.Args[1:],
		getenv:           os.Getenv,
		environ:          os.Environ(),
		stdin:            os.Stdin,
		stdout:           os.Stdout,
		stderr:           os.Stderr,
		stderrIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		columns:          columns,
		interactive:      term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stderr.Fd())),
	}))
}

// environment is all that a command sees of the process around it.
type environment struct {
	args             []string
	getenv           func(string) string
	environ          []string // all variables, as os.Environ has them
	stdin            io.Reader
	stdout, stderr   io.Writer
	columns          int  // the width of the terminal behind stdout; 0 where there is none
	stderrIsTerminal bool // progress may write over its line
	interactive      bool // standard input, output and error are all a terminal
}

// run runs one command and returns the exit status of the process, which -h of
// the program has in a table.
func run(ctx context.Context, env environment) int {
	root := rootCommand(env)
	root.SetArgs(env.args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(env.stderr, "petstore: "+visible(err.Error()))
	return exitStatus(err)
}

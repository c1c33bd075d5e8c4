// Command petstore runs the pet store service and manages its keys, pets and
// backups.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

func main() {
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	os.Exit(run(server.UntilSignal(context.Background()), os.Args[1:], &environment{
		getenv:      os.Getenv,
		stdout:      os.Stdout,
		stderr:      os.Stderr,
		terminal:    isTerminal(os.Stderr),
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout) && isTerminal(os.Stderr),
		exit:        os.Exit,
	}))
}

// environment is what a command gets from the system, and what it tells run.
type environment struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal
	interactive    bool // stdin, stdout and stderr are terminals
	exit           func(status int)

	logger  *slog.Logger
	parsed  bool // the command line is valid; errors before that are usage errors
	serving bool // a signal is no interruption
	copied  store.Counts
}

// run runs one command and returns the exit status of the process.
func run(ctx context.Context, args []string, env *environment) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	env.stdout, env.stderr = printableWriter{env.stdout}, printableWriter{env.stderr}
	env.logger = slog.New(slog.NewTextHandler(env.stderr, nil))
	root := rootCommand(env)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	cause, interrupted := errors.AsType[server.Interrupted](context.Cause(ctx))
	if interrupted && !env.serving {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	text := service.Name + ": " + strings.TrimSpace(err.Error())
	_, isUsage := errors.AsType[usageError](err)
	if !env.parsed {
		isUsage = true // cobra's own errors have no type
		text += "\nSee " + cmd.CommandPath() + " -h."
	}
	fmt.Fprintln(env.stderr, text)
	switch {
	case isUsage:
		return 2
	case errors.Is(err, cause):
		return 128 + int(cause.Signal)
	}
	return 1
}

func rootCommand(env *environment) *cobra.Command {
	root := &cobra.Command{
		Use:   service.Name,
		Short: "A catalogue of pets over HTTP",
		Long: `petstore is a catalogue of pets over HTTP. Start it with "petstore serve" and
create an API key with "petstore keys create".

Exit status:
    0              success
    1              failure; standard error says why
    2              the command line or an environment variable is invalid
    129, 130, 143  interrupted by SIGHUP, SIGINT (Ctrl-C) or SIGTERM; serve, once
                   it listens, stops with 0`,
		Version:           fmt.Sprintf("%s (commit %s, %s, %s)", version, commit, runtime.Version(), platform),
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error { return prepare(cmd, args, env) },
	}
	root.AddCommand(serveCommand(env), keysCommand(env), backupCommand(env), restoreCommand(env),
		verifyCommand(env), copyCommand(env), migrateCommand(env), healthCommand())
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok { // its text has the value, perhaps a password
			return fmt.Errorf("--%s: %w", e.GetFlag().Name, e.Unwrap())
		}
		return err
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100") + `
Environment variables set flags, too, except --force, --from and --to:
PETSTORE_MAX_CONNECTIONS sets --max-connections.
`)
	return root
}

// prepare runs before each command.
func prepare(cmd *cobra.Command, args []string, env *environment) error {
	if err := setFromVariables(cmd.Flags(), env.getenv); err != nil {
		return err
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return err
	}
	env.parsed = true
	if cmd.Name() == "serve" {
		return nil
	}
	ctx := cmd.Context()
	context.AfterFunc(ctx, func() { // it ends in time, even if nobody reads what it prints
		if cause, ok := errors.AsType[server.Interrupted](context.Cause(ctx)); ok && env.exit != nil {
			time.AfterFunc(stopTime, func() { env.exit(128 + int(cause.Signal)) })
		}
	})
	var paths []string
	if strings.HasSuffix(cmd.Use, " FILE") {
		paths = append(paths, args...)
	}
	var err error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		switch addr, ok := f.Value.(*address.Address); {
		case !ok:
		case addr.Kind == "sqlite":
			paths = append(paths, addr.Path)
		case addr.Kind == "memory":
			err = misuse("--%s: the memory store exists only inside a server, which gets its keys from %s", f.Name, keysVariable)
		}
	})
	if err != nil {
		return err
	}
	if env.terminal {
		go showProgress(cmd.Context(), env.stderr, &env.copied.Pets)
	}
	return leaveRoot(env, paths)
}

// openStore opens a store, and adds advice to its errors.
func openStore(ctx context.Context, env *environment, addr address.Address, o store.Options) (store.Store, error) {
	o.Logger = env.logger
	st, err := addr.Open(ctx, o)
	return st, advise(err, addr)
}

// usageError is the error for an invalid command line or environment variable.
type usageError struct{ error }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// showProgress prints, every two seconds until ctx ends, how long a command has worked
// and how many pets it has copied.
func showProgress(ctx context.Context, out io.Writer, copied *atomic.Int64) {
	began := time.Now()
	for range time.Tick(2 * time.Second) {
		if ctx.Err() != nil {
			return
		}
		text := fmt.Sprintf("working for %v", time.Since(began).Round(time.Second))
		if n := copied.Load(); n > 0 {
			text += fmt.Sprintf(", pets copied: %d", n)
		}
		fmt.Fprintln(out, text)
	}
}

// version and commit are set by the linker.
var version, commit = "unknown", "unknown"

const platform = runtime.GOOS + "/" + runtime.GOARCH

// printableWriter writes text with all but line feeds and tabs made printable.
type printableWriter struct{ io.Writer }

func (w printableWriter) Write(text []byte) (int, error) {
	_, err := io.WriteString(w.Writer, printable(string(text), "\n\t"))
	return len(text), err
}

// printable escapes, as JSON does, characters that could move a terminal's cursor,
// colour the text or change its direction, except those in allowed.
func printable(s, allowed string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) && !strings.ContainsRune(allowed, r) }
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hidden(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

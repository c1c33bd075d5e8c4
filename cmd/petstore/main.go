// Command petstore runs the pet store service and manages its keys, pets and
// backups.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

func main() {
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	os.Exit(run(server.UntilSignal(context.Background()), os.Args[1:], environment{
		getenv:      os.Getenv,
		stdin:       os.Stdin,
		stdout:      os.Stdout,
		stderr:      os.Stderr,
		terminal:    isTerminal(os.Stderr),
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout) && isTerminal(os.Stderr),
	}))
}

// environment holds the environment variables and standard streams of a command.
type environment struct {
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal
	interactive    bool // stdin, stdout and stderr are terminals

	pets *atomic.Int64 // how many the command has read or written
}

// run runs one command and returns the exit status of the process.
func run(ctx context.Context, args []string, env environment) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	env.pets = new(atomic.Int64)
	parsed := false
	root := rootCommand(env, func() { parsed = true })
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if cause, ok := errors.AsType[server.Interrupted](context.Cause(ctx)); ok && !errors.Is(err, cause) && cmd.Name() != "serve" {
		err = cause
	}
	text := service.Name + ": " + strings.TrimSpace(err.Error())
	if !parsed { // cobra's own errors have no type
		err = misuse("%w", err)
		text += "\nSee " + cmd.CommandPath() + " -h."
	}
	fmt.Fprintln(env.stderr, printable(text))
	if e, ok := errors.AsType[statusError](err); ok {
		return e.status
	}
	if e, ok := errors.AsType[server.Interrupted](err); ok {
		return 128 + int(e.Signal)
	}
	return 1
}

// rootCommand returns the petstore command. It calls parsed once the command line
// is valid; errors before that are usage errors.
func rootCommand(env environment, parsed func()) *cobra.Command {
	root := &cobra.Command{
		Use:   service.Name,
		Short: "A catalogue of pets over HTTP",
		Long: `petstore is a catalogue of pets over HTTP. Start it with "petstore serve" and
create an API key with "petstore keys create".

Exit status:
    0              success
    1              failure; standard error says why
    2              the command line or an environment variable is invalid
    129, 130, 143  interrupted by SIGHUP, SIGINT (Ctrl-C) or SIGTERM; serve, once it listens, stops with 0`,
		Version:       programVersion(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := setFromVariables(cmd.Flags(), env.getenv); err != nil {
				return err
			}
			if err := checkStore(cmd); err != nil {
				return err
			}
			parsed()
			if env.terminal && cmd.Name() != "serve" {
				go showProgress(cmd.Context(), env)
			}
			return nil
		},
	}
	root.AddCommand(serveCommand(env), keysCommand(env), backupCommand(env),
		restoreCommand(env), verifyCommand(env), migrateCommand(env), healthCommand(), versionCommand(env))
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100") + `
Environment variables can also set flags, except --force: PETSTORE_MAX_CONNECTIONS
sets --max-connections.
`)
	return root
}

const storeFlag = "store"

// variablePrefix begins the name of every environment variable.
var variablePrefix = strings.ToUpper(service.Name) + "_"

// addStoreFlag adds --store, which checkStore checks.
func addStoreFlag(flags *pflag.FlagSet, addr *string) {
	flags.StringVar(addr, storeFlag, address.Default, "the `address` of the store: "+address.Forms)
}

// variableOf returns the environment variable of a flag, or "" if it has none.
func variableOf(flag string) string {
	if slices.Contains([]string{"help", "version", "force"}, flag) {
		return ""
	}
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setFromVariables sets flags that were not given from their environment variables.
func setFromVariables(flags *pflag.FlagSet, getenv func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := variableOf(f.Name)
		if f.Changed || variable == "" || getenv(variable) == "" {
			return
		}
		if err := flags.Set(f.Name, getenv(variable)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", variable, err))
		}
	})
	return errors.Join(errs...)
}

// checkStore checks --store, if the command has it. Its errors, unlike those of pflag,
// do not repeat a password.
func checkStore(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup(storeFlag)
	if f == nil {
		return nil
	}
	switch address.Kind(f.Value.String()) {
	case "":
		return misuse("--store or %s: unknown store %q: use %s", variableOf(storeFlag), address.Redact(f.Value.String()), address.Forms)
	case "memory":
		if cmd.Name() != "serve" {
			return misuse("the memory store exists only inside a server; use --store sqlite:PATH, or set %s to give a server keys", keysVariable)
		}
	}
	return nil
}

// openStore opens a store, and adds advice to its errors.
func openStore(ctx context.Context, env environment, addr string, o address.Options) (store.Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(env.stderr, nil))
	}
	st, err := address.Open(ctx, addr, o)
	return st, advise(err, addr)
}

// statusError is an error with an exit status of its own.
type statusError struct {
	error
	status int
}

// misuse returns the error for an invalid command line or environment variable.
func misuse(format string, args ...any) error { return statusError{fmt.Errorf(format, args...), 2} }

// outcome adds to the error of a command whether something was done. The text unknown
// is for errors of a store that do not tell.
func outcome(ctx context.Context, err error, undone, unknown string) error {
	text := undone
	if pets.KindOf(err) == pets.Internal {
		text = unknown
	}
	return fmt.Errorf("%w; %s", cmp.Or(context.Cause(ctx), err), text)
}

// showProgress prints, every two seconds until ctx ends, how long a command has worked
// and how many pets it has read or written.
func showProgress(ctx context.Context, env environment) {
	began := time.Now()
	for range time.Tick(2 * time.Second) {
		if ctx.Err() != nil {
			return
		}
		text := fmt.Sprintf("working for %v", time.Since(began).Round(time.Second))
		if n := env.pets.Load(); n > 0 {
			text += ", " + counted(n, "pet") + " so far"
		}
		fmt.Fprintln(env.stderr, text)
	}
}

// version and commit are set by the linker.
var version, commit string

func versionCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of the program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(env.stdout, "%s %s (commit %s, %s, %s/%s)\n", service.Name, programVersion(),
				cmp.Or(commit, "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// programVersion returns the version set by the linker, or else the one recorded
// by Go.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return cmp.Or(info.Main.Version, "unknown")
	}
	return version
}

// printable replaces characters that could move a terminal's cursor, colour the
// text or change its direction.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// counted returns n and its noun: 1 pet, 2 pets.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

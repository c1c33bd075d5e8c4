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
	os.Exit(run(server.UntilSignal(context.Background()), os.Args[1:], environment{
		getenv:      os.Getenv,
		stdout:      os.Stdout,
		stderr:      os.Stderr,
		terminal:    isTerminal(os.Stderr),
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout) && isTerminal(os.Stderr),
	}))
}

// environment holds the environment variables and standard streams of a command.
type environment struct {
	getenv         func(string) string
	stdout, stderr io.Writer
	terminal       bool // stderr is a terminal
	interactive    bool // stdin, stdout and stderr are terminals
}

// run runs one command and returns the exit status of the process.
func run(ctx context.Context, args []string, env environment) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	parsed := false
	root := rootCommand(env, func() { parsed = true })
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	cause, interrupted := errors.AsType[server.Interrupted](context.Cause(ctx))
	if interrupted && !errors.Is(err, cause) && cmd.Name() != "serve" {
		err = cause
	}
	text := service.Name + ": " + strings.TrimSpace(err.Error())
	_, isUsage := errors.AsType[usageError](err)
	if !parsed {
		isUsage = true // cobra's own errors have no type
		text += "\nSee " + cmd.CommandPath() + " -h."
	}
	fmt.Fprintln(env.stderr, printable(text, "\n\t"))
	switch {
	case isUsage:
		return 2
	case errors.Is(err, cause):
		return 128 + int(cause.Signal)
	}
	return 1
}

// rootCommand returns the petstore command. It calls parsed once the command line
// is valid; errors before that are usage errors.
func rootCommand(env environment, parsed func()) *cobra.Command {
	var copied counts
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
		Version: fmt.Sprintf("%s (commit %s, %s, %s/%s)", programVersion(), cmp.Or(commit, "unknown"),
			runtime.Version(), runtime.GOOS, runtime.GOARCH),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if err := setFromVariables(cmd.Flags(), env.getenv); err != nil {
				return err
			}
			if err := checkAddresses(cmd); err != nil {
				return err
			}
			parsed()
			if cmd.Name() == "serve" {
				return nil
			}
			if err := leaveRoot(cmd, args, env); err != nil {
				return err
			}
			if env.terminal {
				go showProgress(cmd.Context(), env.stderr, &copied.pets)
			}
			return nil
		},
	}
	root.AddCommand(serveCommand(env), keysCommand(env), backupCommand(env), restoreCommand(env),
		verifyCommand(env), copyCommand(env, &copied), migrateCommand(env), healthCommand())
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 100") + `
Environment variables can also set flags, except --force, --from and --to:
PETSTORE_MAX_CONNECTIONS sets --max-connections.
`)
	return root
}

const storeFlag = "store"

// variablePrefix begins the name of every environment variable.
var variablePrefix = strings.ToUpper(service.Name) + "_"

// addStoreFlag adds --store.
func addStoreFlag(flags *pflag.FlagSet, addr *string) {
	addAddressFlag(flags, addr, storeFlag, address.Default, "the `address` of the store: "+address.Forms)
}

// isAddress annotates flags that hold the address of a store.
const isAddress = "address"

// addAddressFlag adds a flag that checkAddresses checks.
func addAddressFlag(flags *pflag.FlagSet, addr *string, name, value, usage string) {
	flags.StringVar(addr, name, value, usage)
	_ = flags.SetAnnotation(name, isAddress, nil) // the flag exists
}

// variableOf returns the environment variable of a flag, or "" if it has none.
func variableOf(flag string) string {
	if slices.Contains([]string{"help", "version", "force", "from", "to"}, flag) {
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

// addressFlags returns the flags that hold the address of a store.
func addressFlags(cmd *cobra.Command) (flags []*pflag.Flag) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if _, ok := f.Annotations[isAddress]; ok {
			flags = append(flags, f)
		}
	})
	return flags
}

// checkAddresses checks the addresses of stores. Its errors, unlike those of pflag, do
// not repeat a password.
func checkAddresses(cmd *cobra.Command) error {
	for _, f := range addressFlags(cmd) {
		name, addr := "--"+f.Name, f.Value.String()
		if variable := variableOf(f.Name); variable != "" {
			name += " or " + variable
		}
		if err := address.Check(addr); err != nil {
			return misuse("%s: %w", name, err)
		}
		if address.Kind(addr) == "memory" && cmd.Name() != "serve" {
			return misuse("%s: the memory store exists only inside a server, which gets its keys from %s", name, keysVariable)
		}
	}
	return nil
}

// openStore opens a store, and adds advice to its errors.
func openStore(ctx context.Context, env environment, addr string, o address.Options) (store.Store, error) {
	if o.Logger == nil {
		o.Logger = commandLogger(env)
	}
	st, err := address.Open(ctx, addr, o)
	return st, advise(err, addr)
}

// commandLogger returns the logger of commands other than serve.
func commandLogger(env environment) *slog.Logger {
	return slog.New(slog.NewTextHandler(env.stderr, nil))
}

// usageError is the error for an invalid command line or environment variable.
type usageError struct{ error }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// lastWord adds to the error of a command what was done. The cause of an interruption
// replaces the error.
func lastWord(ctx context.Context, err error, done string) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return fmt.Errorf("%w; %s", err, done)
}

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
			text += ", " + counted(n, "pet") + " so far"
		}
		fmt.Fprintln(out, text)
	}
}

// version and commit are set by the linker.
var version, commit string

// programVersion returns the version set by the linker, or else the one recorded
// by Go.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		return cmp.Or(info.Main.Version, "unknown")
	}
	return version
}

// printable escapes, as JSON does, characters that could move a terminal's cursor,
// colour the text or change its direction, except those in allowed.
func printable(s, allowed string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) || strings.ContainsRune(allowed, r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// counted returns n and its noun: 1 pet, 2 pets.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

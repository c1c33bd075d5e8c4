// Command petstore runs the pet store service, and manages its API keys and its store.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/server"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/address"
)

func main() {
	sockets, _ := activation.Listeners() // never fails
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	variables := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	if variables["GOGC"] == "" {
		debug.SetGCPercent(250) // a tenth less processor time for some megabytes, which GOMEMLIMIT bounds
	}
	os.Exit(run(server.UntilSignal(context.Background()), os.Args[1:], &environment{
		variables:   variables,
		stdout:      &printer{Writer: os.Stdout},
		stderr:      &printer{Writer: os.Stderr},
		terminal:    isTerminal(os.Stderr),
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout) && isTerminal(os.Stderr),
		root:        os.Geteuid() == 0,
		sockets:     sockets,
		exitAfter:   func(d time.Duration, status int) { time.AfterFunc(d, func() { os.Exit(status) }) },
	}))
}

// stopTime is how long the process may take to end after a signal, or after the drain of a
// server, whatever hangs: a database, a disk, or output that nobody reads. Nothing
// acknowledged is lost, because it is already stored.
const stopTime = 12 * time.Second

// environment is what a command gets from the system, and what it tells run.
type environment struct {
	variables      map[string]string
	stdout, stderr *printer
	terminal       bool           // stderr is a terminal
	interactive    bool           // stdin, stdout and stderr are terminals
	root           bool           // the process may do anything with any file
	sockets        []net.Listener // opened by systemd; nil for one that is no listener
	exitAfter      func(d time.Duration, status int)

	logger  *slog.Logger
	store   address.Address // the value of --store
	parsed  bool            // the command line is valid; errors before that are usage errors
	serving bool            // a signal is no interruption
}

// run runs one command and returns the exit status of the process.
func run(ctx context.Context, args []string, env *environment) int {
	env.logger = newLogger(env.stderr, slog.LevelInfo, false)
	root := rootCommand(env)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	status, text := 1, strings.TrimSpace(err.Error())+adviceOn(err, &env.store)
	_, misused := errors.AsType[usageError](err)
	cause, interrupted := errors.AsType[server.Interrupted](context.Cause(ctx))
	switch {
	case misused:
		status = 2
	case !env.parsed: // cobra's own errors have no type
		status, text = 2, text+"\nSee "+cmd.CommandPath()+" -h."
	case interrupted && !env.serving:
		status, text = 128+int(cause.Signal), cause.Error()+": "+text
	}
	fmt.Fprintf(env.stderr, "%s: %s\n", service.Name, env.stderr.cut(text, 2*textLimit))
	return status
}

// commands are those that work on a store. Others belong to a kind of store, and are in its file.
var commands = []func(*environment) *cobra.Command{serveCommand, keysCommand, migrateCommand}

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
		Version: fmt.Sprintf("%s (commit %s, %s, %s/%s)", version, commit,
			runtime.Version(), runtime.GOOS, runtime.GOARCH),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := setFromVariables(cmd.Flags(), env.variables); err != nil {
				return err
			}
			env.parsed = true
			return nil
		},
	}
	for _, command := range commands {
		root.AddCommand(command(env))
	}
	root.AddCommand(healthCommand())
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok { // its text has the value, perhaps a password
			return fmt.Errorf("--%s: %w", e.GetFlag().Name, e.Unwrap())
		}
		return err
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".LocalFlags.FlagUsages", "flags .LocalFlags") + `
Environment variables set flags, too, except --force:
PETSTORE_MAX_CONNECTIONS sets --max-connections.
`)
	// cobra would show help with status 0 instead of refusing what follows these.
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.RunE = showHelp
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		cmd, unknown, _ := root.Find(args)
		return cobra.NoArgs(cmd, unknown)
	}
	return root
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

func init() {
	cobra.AddTemplateFunc("flags", func(flags *pflag.FlagSet) string {
		const values = "[=true|false]"
		return strings.ReplaceAll(flags.FlagUsagesWrapped(100), values, strings.Repeat(" ", len(values)))
	})
}

// usageError is the error for an invalid command line or environment variable.
type usageError struct{ error }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// advice says what to do about errors whose next step cannot be guessed. STORE stands
// for --store with its address.
var advice = map[error]string{
	db.ErrNone:          "check the address and that its volume is mounted, or make one with: petstore migrate STORE",
	db.ErrOutdated:      "stop its servers, then run: petstore migrate STORE",
	db.ErrUnreachable:   "start PostgreSQL, or name its host, user and database in --store or in PGHOST, PGUSER and PGDATABASE",
	db.ErrNoDatabase:    "create it with: createdb -O petstore -E UTF8 -T template0 NAME",
	db.ErrMayNotMigrate: "as the owner of its tables, run: petstore migrate STORE",
}

// adviceOn returns what to do about an error of the store at addr, or "".
func adviceOn(err error, addr *address.Address) string {
	for about, text := range advice {
		if errors.Is(err, about) {
			return "; " + strings.ReplaceAll(text, " STORE", " --store "+addr.String())
		}
	}
	return ""
}

func migrateCommand(env *environment) *cobra.Command {
	return onStore(env, &cobra.Command{
		Use:   "migrate",
		Short: "Make a store, or bring its schema up to date",
		Long: `migrate makes the store if there is none, and brings its schema up to date, as
serve does. For servers whose PostgreSQL user may not change the schema, run it as
the owner of the tables before they start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, to, err := env.store.Migrate(cmd.Context(), env.store.Text, env.logger)
			if err != nil {
				return fmt.Errorf("%w; each migration was made whole or not at all", err)
			}
			_, err = fmt.Fprintf(env.stdout, "the schema is at version %d (before: %d)\n", to, from)
			return err
		},
	})
}

// version and commit are set by the linker.
var version, commit = "unknown", "unknown"

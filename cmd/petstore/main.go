// Command petstore runs the pet store service, and manages its API keys and its store.
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/petstore/engine/server"
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
		debug.SetGCPercent(250) // saves a tenth of the processor time, for some megabytes
	}
	os.Exit(run(server.UntilSignal(context.Background()), os.Args[1:], &environment{
		variables:   variables,
		stdout:      &server.Filter{Writer: os.Stdout},
		stderr:      &server.Filter{Writer: os.Stderr, Limit: 2 << 10}, // as syslog accepts (RFC 5424, 6.1)
		terminal:    isTerminal(os.Stderr),
		interactive: isTerminal(os.Stdin) && isTerminal(os.Stdout) && isTerminal(os.Stderr),
		root:        os.Geteuid() == 0,
		sockets:     sockets,
		exitAfter:   func(d time.Duration, status int) { time.AfterFunc(d, func() { os.Exit(status) }) },
	}))
}

// stopTime limits how long the process takes to end after a signal or a drain. A database, a
// disk or a reader of output may hang. Acknowledged writes are already stored.
const stopTime = 12 * time.Second

// environment is what a command gets from the system and from run.
type environment struct {
	variables      map[string]string
	stdout, stderr *server.Filter
	terminal       bool           // stderr is a terminal
	interactive    bool           // stdin, stdout and stderr are terminals
	root           bool           // the process may change any file
	sockets        []net.Listener // opened by systemd; nil for each that is no listener
	exitAfter      func(d time.Duration, status int)

	logger  *slog.Logger
	store   address.Address // the value of --store
	parsed  bool            // the command line was parsed; an earlier error is one of usage
	serving bool            // a signal does not interrupt the command
}

// run runs one command and returns the exit status of the process.
func run(ctx context.Context, args []string, env *environment) int {
	env.logger = server.NewLogger(env.stderr, slog.LevelInfo, false)
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
	case misused || !env.parsed: // cobra's own errors have no type
		status, text = 2, text+"\nSee "+cmd.CommandPath()+" -h."
	case interrupted && !env.serving:
		status, text = 128+int(cause.Signal), cause.Error()+": "+text
	}
	fmt.Fprintf(env.stderr, "%s: %s\n", service.Name, text)
	return status
}

// commands are the commands for all kinds of stores. A kind's own file may add more.
var commands = []func(*environment) *cobra.Command{serveCommand, keysCommand, migrateCommand, healthCommand}

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
			err := setFromVariables(cmd.Flags(), env.variables)
			env.parsed = err == nil
			return err
		},
	}
	for _, command := range commands {
		root.AddCommand(command(env))
	}
	root.SetOut(env.stdout)
	root.SetErr(env.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok { // its text contains the value, perhaps a password
			return fmt.Errorf("--%s: %w", e.GetFlag().Name, e.Unwrap())
		}
		return err
	})
	root.SetUsageTemplate(root.UsageTemplate() + `
Environment variables set flags, too, except --force:
PETSTORE_MAX_CONNECTIONS sets --max-connections.
`)
	return root
}

// usageError is the error for an invalid command line or environment variable.
type usageError struct{ error }

func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func healthCommand(*environment) *cobra.Command {
	var addr, certificate string
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether the server on this machine is ready",
		Long: `health requests /readyz from the server on this machine, and fails unless the server
is ready. It reads PETSTORE_ADDR and PETSTORE_TLS_CERT, as serve does.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			url := "http://localhost/readyz"
			if certificate != "" {
				url = "https://localhost/readyz"
			}
			r, _ := http.NewRequestWithContext(cmd.Context(), http.MethodGet, url, http.NoBody) // never fails
			// The certificate names the public host, not this machine. The request has no secrets.
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // #nosec G402
			transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				network, address := server.Network(addr)
				return new(net.Dialer).DialContext(ctx, network, address)
			}
			response, err := (&http.Client{Transport: transport, Timeout: 4 * time.Second}).Do(r)
			if err != nil {
				return fmt.Errorf("no response: %w; start the server, or correct --addr or --tls-cert", err)
			}
			defer response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			reason, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10)) // such as a server that expects HTTPS
			return fmt.Errorf("%s is not ready; see its log, or correct --tls-cert: %s: %s", addr, response.Status, reason)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", defaultAddr, "the `address` that serve listens on")
	cmd.Flags().StringVar(&certificate, "tls-cert", "", "the `file` of serve's certificate, if any, for HTTPS")
	return cmd
}

// version and commit are set by the linker.
var version, commit = "unknown", "unknown"

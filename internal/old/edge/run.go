package edge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/edge/server"
)

// Environment is all that a program sees of the process around it.
type Environment struct {
	Args             []string // without the program's name
	Getenv           func(string) string
	Environ          []string // as os.Environ has it, to warn of misspelt variables; may be nil
	Stdout, Stderr   io.Writer
	Columns          int  // the width of the terminal behind Stdout; 0 where there is none
	StderrIsTerminal bool // lines of the log are then text
}

// Run runs a service as the program of this process. It reads flags and, for each, a
// variable that begins with the service's name. It serves until SIGTERM or SIGINT,
// and returns the exit status for os.Exit. -h says which flags there are.
func Run(s Service) int {
	columns, _, _ := term.GetSize(int(os.Stdout.Fd())) // 0 where it is no terminal
	return RunIn(context.Background(), Environment{
		Args: os.Args[1:], Getenv: os.Getenv, Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr,
		Columns: columns, StderrIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	}, s)
}

// RunIn is Run in another environment, until ctx ends.
func RunIn(ctx context.Context, env Environment, s Service) int {
	err := run(ctx, env, s)
	if err != nil {
		fmt.Fprintf(env.Stderr, "%s: %v\n", s.Name, err)
	}
	return program.ExitStatus(err)
}

func run(ctx context.Context, env Environment, s Service) error {
	if err := s.check(); err != nil {
		return err // before its name is that of variables
	}
	variables := program.Variables(s.Name)
	flags := pflag.NewFlagSet(s.Name, pflag.ContinueOnError)
	flags.Usage, flags.SortFlags = func() {}, false
	var settings program.Settings
	settings.AddFlags(flags)
	version := flags.Bool("version", false, "print the version of the program")
	variables.Describe(flags)
	err := flags.Parse(env.Args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		_, err := fmt.Fprintf(env.Stdout, "Usage:\n  %s [flags]\n\nFlags:\n%s", s.Name, program.Help(flags, env.Columns))
		return err
	case err != nil:
		return program.Misuse("%w; see %s -h", program.FlagError(flags, err), s.Name)
	case flags.NArg() > 0:
		return program.Misuse("%q is no flag; see %s -h", flags.Arg(0), s.Name)
	case *version:
		_, err := fmt.Fprintln(env.Stdout, s.Name, s.Version)
		return err
	}
	if err := variables.Set(flags, env.Getenv); err != nil {
		return err
	}
	return program.Run(ctx, program.Config{
		Settings: settings, Version: s.Version, KeyPattern: s.KeyPattern,
		Misspelt: variables.Misspelt(env.Environ, variables.All(flags)),
		Getenv:   env.Getenv, Stderr: env.Stderr, StderrIsTerminal: env.StderrIsTerminal,
	}, func(ctx context.Context, p *program.Program) error { return Serve(ctx, p, s) })
}

// Serve serves a service by a program until ctx ends or the service fails. The
// settings of the program take the place of the service's. The line of the log that
// says so has these attributes too. Serve takes the ports, unless Listen has, once
// the service has been judged.
func Serve(ctx context.Context, p *program.Program, s Service, attrs ...any) error {
	if s.PublicURL == "" {
		s.PublicURL = p.PublicURL
	}
	s.Logger, s.TrustedProxies = p.Logger, p.TrustedProxies
	s.Limits.Calls, s.Limits.Rate = p.MaxInFlight, p.RateLimit
	if p.Metrics != nil {
		s.Metrics, s.Collectors = p.Metrics, slices.Concat(s.Collectors, []prometheus.Collector{p})
	}
	if authenticate := s.Authenticate; authenticate != nil {
		s.Authenticate = func(ctx context.Context, token string) (Identity, error) {
			caller, err := authenticate(ctx, token)
			if err == nil {
				server.Trust(ctx)
			}
			return caller, err
		}
	}
	if ready := s.Ready; ready != nil {
		s.Ready = func(ctx context.Context) error {
			if p.Draining() {
				return &NotReady{"stopping", errors.New("the server is stopping")}
			}
			return ready(ctx)
		}
	}
	handler, err := newEdge(s)
	if err != nil {
		return err
	}
	if err := p.Listen(ctx); err != nil {
		return err
	}
	return p.Serve(ctx, handler, s.Failed, append([]any{"address", p.URL() + handler.base, "docs", p.URL() + DocsPath}, attrs...)...)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"regexp/syntax"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/check"
	"example.com/petstore/internal/old/edge/program"
)

// checkKeyVariable has the API key of a check, which is no flag: a list of processes
// shows flags.
const checkKeyVariable = "PETSTORE_KEY"

// checkConfig is the configuration of `petstore check`.
type checkConfig struct {
	check.Config
	only           string
	deadline       time.Duration
	json, failures bool
}

func checkCommand(env environment) *cobra.Command {
	var cfg checkConfig
	cmd := &cobra.Command{
		Use:   "check URL",
		Short: "Hold any running server against the contract",
		Long: `check sends requests to a server and prints which rules of the contract hold.
The server may be a mock, a gateway before the service or another implementation.
URL is its base address, ending in /v1. A rule has its source beside it: a name in
openapi.yaml, an RFC, or decisions, for "Decisions" in
internal/proof/contract/README.md.

The API key is taken from PETSTORE_KEY. It goes to URL's host and nowhere else:
redirects are not followed, no proxy is used, and it is never printed.

Without --write only GET, HEAD, OPTIONS and PROPFIND are sent, which change
nothing. With --write some 40 animals are added, and no operation removes them: do
not use it where that matters. It also sends the key in a URL, which servers must
not accept and may log.

The exit status is 0 if all that was checked holds, and 1 if something does not. It
is 2 without a key, without a response, or without an end before --deadline.`,
		Example: `  export PETSTORE_KEY=$(petstore keys create check)
  petstore check http://127.0.0.1:8080/v1
  petstore check --write https://staging.example.com/v1
  petstore check --only 'Paging|limit' http://127.0.0.1:4010
  petstore check --failures http://127.0.0.1:8080/v1`,
		Args: exactly(1, " URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd.Context(), env, cfg, args[0])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&cfg.Write, "write", false, "add animals too, which no operation removes")
	flags.StringVar(&cfg.only, "only", "", `check only the rules whose "group: title" this regular expression matches`)
	program.AddDuration(flags, &cfg.Timeout, "timeout", 10*time.Second, "how long to wait for one response")
	program.AddDuration(flags, &cfg.deadline, "deadline", 5*time.Minute, "how long the whole check may take")
	flags.IntVar(&cfg.Rate, "rate", 50, "how many requests to send a second; 0 for any number")
	flags.BoolVar(&cfg.failures, "failures", false, "print only the rules that do not hold")
	addJSONFlag(flags, &cfg.json)
	return cmd
}

func runCheck(ctx context.Context, env environment, cfg checkConfig, address string) error {
	if err := cfg.complete(env, address); err != nil {
		return err
	}
	ctx, stop := program.UntilSignal(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, cfg.deadline)
	defer cancel()

	var t *check.Table
	if !cfg.json {
		t = check.NewTable(env.stdout, cfg.Config, check.TableOptions{Columns: env.columns, Colours: hasColours(env), Failures: cfg.failures})
		cfg.Report = t.Rule
	}
	if unencrypted(cfg.Base) {
		fmt.Fprintf(env.stderr, "petstore: the key goes to %s unencrypted\n", cfg.Base.Host)
	}
	report, err := check.Run(ctx, cfg.Config)
	if err != nil {
		return uncheckedError{err}
	}
	if cfg.json {
		err = printJSON(env.stdout, report.Document(cfg.Config, cfg.failures))
	} else {
		err = t.End(report)
	}
	if err != nil {
		return uncheckedError{err}
	}
	switch fails := report.Count(check.Fails); {
	case fails > 0:
		return fmt.Errorf("%s does not keep the contract", cfg.Base)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return uncheckedError{fmt.Errorf("not finished within %v; --deadline allows more", cfg.deadline)}
	case ctx.Err() != nil:
		return uncheckedError{interrupted(ctx, "ended before all was checked")}
	}
	return nil
}

// complete adds the values that are no flags, and reads those that are text.
func (cfg *checkConfig) complete(env environment, address string) (err error) {
	if cfg.Base, err = check.ParseBase(address); err != nil {
		return program.UsageError{Err: err}
	}
	if cfg.Key, err = check.ParseKey(env.getenv(checkKeyVariable)); err != nil {
		return program.UsageError{Err: err}
	}
	if cfg.Rate < 0 || cfg.Timeout <= 0 || cfg.deadline <= 0 {
		return program.Misuse("--rate must not be negative, --timeout and --deadline must be more than 0")
	}
	if cfg.only == "" {
		return nil
	}
	if cfg.Only, err = regexp.Compile(cfg.only); err != nil {
		if e, ok := errors.AsType[*syntax.Error](err); ok {
			err = errors.New(e.Code.String())
		}
		return program.Misuse("--only %q is no regular expression: %w", cfg.only, err)
	}
	return nil
}

// unencrypted reports whether requests to base can be read on their way.
func unencrypted(base *url.URL) bool {
	ip := net.ParseIP(base.Hostname())
	return base.Scheme == "http" && base.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// hasColours reports whether a person reads the output, who has not asked for none
// (no-color.org).
func hasColours(env environment) bool {
	return env.interactive && env.getenv("NO_COLOR") == "" && env.getenv("TERM") != "dumb"
}

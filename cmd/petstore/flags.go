package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

const storeFlag = "store"

// variablePrefix begins the name of every environment variable.
var variablePrefix = strings.ToUpper(service.Name) + "_"

// addStoreFlag adds --store, which checkFlags checks.
func addStoreFlag(flags *pflag.FlagSet, address *string) {
	flags.StringVar(address, storeFlag, store.DefaultAddress, "the `address` of the store: "+store.Addresses)
}

func addJSONFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print the result as JSON")
}

// variableOf returns the environment variable that sets a flag, or "" if there is
// none.
func variableOf(flag string) string {
	if slices.Contains([]string{"help", "version", "force", "yes", "json"}, flag) {
		return ""
	}
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// otherVariable matches variables that set no flag: fixed keys, what a sandbox prints,
// and what Kubernetes sets for a Service with the program's name.
var otherVariable = regexp.MustCompile(`^(URL|KEY|READ_ONLY_KEY|API_KEYS|API_KEYS_FILE|PORT|PORT_.*|SERVICE_HOST|SERVICE_PORT.*)$`)

// warnUnknown names the variables that no command reads, which may be misspelt.
func warnUnknown(root *cobra.Command, env environment) {
	known := map[string]bool{}
	for _, c := range root.Commands() {
		for _, c := range append([]*cobra.Command{c}, c.Commands()...) {
			c.LocalFlags().VisitAll(func(f *pflag.Flag) { known[variableOf(f.Name)] = true })
		}
	}
	for _, entry := range env.environ {
		name, _, _ := strings.Cut(entry, "=")
		if own, found := strings.CutPrefix(name, variablePrefix); found && !known[name] && !otherVariable.MatchString(own) {
			fmt.Fprintf(env.stderr, "%s: the environment variable %s is unknown and has no effect\n", root.Name(), printable(name))
		}
	}
}

// setFromVariables sets flags that are not on the command line from their
// environment variables.
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

// checkFlags checks the flags that several commands share.
func checkFlags(cmd *cobra.Command) error {
	if f := cmd.Flags().Lookup("format"); f != nil && f.Value.String() != "" {
		if err := checkWord(f, "csv", "ndjson"); err != nil {
			return err
		}
	}
	if f := cmd.Flags().Lookup("log-format"); f != nil {
		if err := checkWord(f, "auto", "text", "json"); err != nil {
			return err
		}
	}
	f := cmd.Flags().Lookup(storeFlag)
	if f == nil {
		return nil
	}
	switch store.Kind(f.Value.String()) {
	case "":
		return badFlag(storeFlag, "unknown store %q: use %s", store.Redact(f.Value.String()), store.Addresses)
	case "memory":
		if cmd.Name() != "serve" {
			return misuse("the memory store exists only inside a server; use --store sqlite:PATH, or set %s to give a server keys", keysVariable)
		}
	}
	return nil
}

func checkWord(f *pflag.Flag, allowed ...string) error {
	if !slices.Contains(allowed, f.Value.String()) {
		return badFlag(f.Name, "%q: must be one of %s", f.Value, strings.Join(allowed, ", "))
	}
	return nil
}

// badFlag returns the error for an invalid value of a flag or its variable.
func badFlag(name, format string, args ...any) error {
	return misuse("--%s or %s: %w", name, variableOf(name), fmt.Errorf(format, args...))
}

func checkListen(flag, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return badFlag(flag, "%q: use HOST:PORT, such as 127.0.0.1:8080, or :8080 for all addresses of this machine", addr)
	}
	return nil
}

// parseDuration is like time.ParseDuration but also accepts whole days, as in 30d.
func parseDuration(text string) (time.Duration, error) {
	if days, found := strings.CutSuffix(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, errors.Unwrap(err)
	}
	return time.ParseDuration(text)
}

// openStore opens a store, unless a signal ends ctx.
func openStore(ctx context.Context, env environment, address string, o store.Options) (store.Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(env.stderr, nil))
	}
	st, err := store.Open(ctx, address, o)
	if err != nil {
		err = cmp.Or(context.Cause(ctx), advise(err, address))
	}
	return st, err
}

package main

import (
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/store"
)

// variableOf returns the environment variable that sets a flag, or "". A
// variable outlasts the command that it was set for, so none forces, confirms
// or changes the output of a command.
func variableOf(flag string) string {
	if slices.Contains([]string{"help", "version", "force", "yes", "json"}, flag) {
		return ""
	}
	return "PETSTORE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// describeVariables adds the variable of each flag to the help of cmd and its
// subcommands.
func describeVariables(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if variable := variableOf(f.Name); variable != "" {
			f.Usage += " [$" + variable + "]"
		}
	})
	for _, sub := range cmd.Commands() {
		describeVariables(sub)
	}
}

// checkFlags sets the flags that the command line does not from their
// variables, and checks the address of the store.
func checkFlags(flags *pflag.FlagSet, getenv func(string) string) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := variableOf(f.Name)
		if !f.Changed && variable != "" && getenv(variable) != "" {
			if err := flags.Set(f.Name, getenv(variable)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", variable, err))
			}
		}
		if f.Name == storeFlag && store.Kind(f.Value.String()) == "" {
			errs = append(errs, badFlag(storeFlag, "unknown store %q: give %s", store.Redact(f.Value.String()), storeKinds))
		}
	})
	return errors.Join(errs...)
}

// badFlag returns the error for a flag, or its variable, whose value makes no
// sense.
func badFlag(name, format string, args ...any) error {
	return misuse("--%s or %s: %w", name, variableOf(name), fmt.Errorf(format, args...))
}

func checkListen(flag, addr string) error {
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		return badFlag(flag, "%q: give HOST:PORT, such as 127.0.0.1:8080, or :8080 for all addresses of this machine", addr)
	}
	return nil
}

func checkWord(flag, word string, words ...string) error {
	if slices.Contains(words, word) {
		return nil
	}
	return badFlag(flag, "%q: give one of %s", word, strings.Join(words, ", "))
}

// parseDuration is time.ParseDuration for durations of 0 or more, which may
// begin with days: 30d, 1d12h.
func parseDuration(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	days, rest, found := strings.Cut(text, "d")
	if !found {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 64)
	total := time.Duration(0)
	if err == nil && (rest != "" || !found) {
		total, err = time.ParseDuration(rest)
	}
	if err != nil || strings.ContainsAny(rest, "+-") || n > uint64((math.MaxInt64-total)/day) {
		return 0, errors.New("give a number and its unit, such as 5s, 10m, 2h or 30d")
	}
	return total + time.Duration(n)*day, nil
}

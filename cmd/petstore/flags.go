package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// value is a flag whose text is parsed as it is set, so that one that makes no
// sense is an error of the command line.
type value[T any] struct {
	to         *T
	text, kind string
	parse      func(string) (T, error)
}

func (v *value[T]) String() string { return v.text }

func (v *value[T]) Type() string { return v.kind }

func (v *value[T]) Set(text string) error {
	parsed, err := v.parse(text)
	if err == nil {
		*v.to, v.text = parsed, text
	}
	return err
}

// addValue adds a flag that parse reads. kind is the word for its value in -h.
func addValue[T any](flags *pflag.FlagSet, to *T, name, kind, initial, usage string, parse func(string) (T, error)) {
	v := &value[T]{to: to, kind: kind, parse: parse}
	if err := v.Set(initial); err != nil {
		panic(err) // a fault of the program
	}
	flags.Var(v, name, usage)
}

// addWord adds a flag that takes one of words.
func addWord(flags *pflag.FlagSet, to *string, name, initial, usage string, words ...string) {
	addValue(flags, to, name, "word", initial, usage, func(text string) (string, error) {
		if text == initial || slices.Contains(words, text) {
			return text, nil
		}
		last := len(words) - 1
		return "", fmt.Errorf("give %s or %s", strings.Join(words[:last], ", "), words[last])
	})
}

const storeFlag, storeKinds = "store", "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"

// addStoreFlag adds --store. checkFlags judges it, since the errors of pflag
// show the value, which may have a password.
func addStoreFlag(flags *pflag.FlagSet, address *string) {
	flags.StringVar(address, storeFlag, store.DefaultAddress, "the `address` of the store of animals and keys: "+storeKinds)
}

// openStore opens the store for a command that is no server.
func openStore(ctx context.Context, env environment, address string, mustExist bool) (pets.Store, error) {
	plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}
	logger := slog.New(slog.NewTextHandler(env.stderr, plain))
	st, err := store.Open(ctx, address, store.Options{MustExist: mustExist, Logger: logger})
	if err != nil && ctx.Err() != nil {
		err = interrupted(ctx, "interrupted")
	}
	return st, err
}

func addJSONFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print the result as JSON, for programs")
}

// addListenFlag adds a flag that takes an address to listen on. It may be empty
// only if that is the initial one.
func addListenFlag(flags *pflag.FlagSet, to *string, name, initial, usage string) {
	addValue(flags, to, name, "address", initial, usage, func(text string) (string, error) {
		_, port, err := net.SplitHostPort(text)
		if text != initial && (err != nil || port == "") {
			return "", errors.New("give HOST:PORT, such as 127.0.0.1:8080, or :8080 for all addresses of this machine")
		}
		return text, nil
	})
}

func addDurationFlag(flags *pflag.FlagSet, to *time.Duration, name, initial, usage string) {
	addValue(flags, to, name, "duration", initial, usage, parseDuration)
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
			errs = append(errs, fmt.Errorf("unknown --store %q: give %s", store.Redact(f.Value.String()), storeKinds))
		}
	})
	return errors.Join(errs...)
}

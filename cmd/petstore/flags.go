package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

const storeFlag = "store"

// variablePrefix begins the name of every environment variable.
var variablePrefix = strings.ToUpper(service.Name) + "_"

// addStoreFlag adds --store, which checkStore checks.
func addStoreFlag(flags *pflag.FlagSet, address *string) {
	flags.StringVar(address, storeFlag, store.DefaultAddress, "the `address` of the store: "+store.Addresses)
}

// variableOf returns the environment variable that sets a flag, or "" if there is
// none.
func variableOf(flag string) string {
	if slices.Contains([]string{"help", "version", "force", "json"}, flag) {
		return ""
	}
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
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

// checkStore checks --store, if the command has it. Its errors, unlike those of pflag,
// do not repeat a password.
func checkStore(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup(storeFlag)
	if f == nil {
		return nil
	}
	switch store.Kind(f.Value.String()) {
	case "":
		return misuse("--store or %s: unknown store %q: use %s", variableOf(storeFlag), store.Redact(f.Value.String()), store.Addresses)
	case "memory":
		if cmd.Name() != "serve" {
			return misuse("the memory store exists only inside a server; use --store sqlite:PATH, or set %s to give a server keys", keysVariable)
		}
	}
	return nil
}

// openStore opens a store, and adds advice to its errors.
func openStore(ctx context.Context, env environment, address string, o store.Options) (store.Store, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(env.stderr, nil))
	}
	st, err := store.Open(ctx, address, o)
	return st, advise(err, address)
}

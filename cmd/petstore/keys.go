package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store/address"
)

func keysCommand(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke API keys",
		Long: `keys manages the API keys of a store. Running servers notice changes within 5
seconds. To replace a key, create a new one, give it to its user, and then revoke
the old one.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysCreateCommand(env), keysListCommand(env), keysRevokeCommand(env))
	return cmd
}

func keysCreateCommand(env environment) *cobra.Command {
	var addr string
	var lifetime time.Duration
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a key and print it once",
		Long: `create adds an API key to the store and prints only the key to standard output.
The key cannot be shown again. NAME says who uses it.`,
		Example: `  petstore keys create "nightly job" --expires-in 720h
  KEY=$(petstore keys create dashboard --read-only)`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, token, err := keys.New(args[0], time.Now(), lifetime) // before a store is created
			if err != nil {
				return misuse("%w", err)
			}
			k.ReadOnly = readOnly
			return withKeys(cmd.Context(), env, addr, address.Options{}, func(ctx context.Context, s keys.Store) error {
				if err := s.CreateKey(ctx, k); err != nil {
					return keyOutcome(ctx, err, "created", addr)
				}
				if _, err := fmt.Fprintln(env.stdout, token); err != nil {
					return fmt.Errorf("created the key %s, but printing it failed: %w", k.ID, err)
				}
				return nil
			})
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &addr)
	flags.DurationVar(&lifetime, "expires-in", 0, "the `duration` after which the key expires, such as 720h; 0 for never")
	flags.BoolVar(&readOnly, "read-only", false, "allow the key to list and get pets, but not to add any")
	return cmd
}

func keysListCommand(env environment) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withKeys(cmd.Context(), env, addr, address.Options{MustExist: true}, func(ctx context.Context, s keys.Store) error {
				all, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				return printKeys(env.stdout, all)
			})
		},
	}
	addStoreFlag(cmd.Flags(), &addr)
	return cmd
}

func keysRevokeCommand(env environment) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "Revoke a key permanently",
		Long: `revoke disables the key with the given ID, or the only active key with the given
name.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), env, addr, address.Options{MustExist: true}, func(ctx context.Context, s keys.Store) error {
				all, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				k, err := findKey(all, args[0], time.Now())
				if err != nil {
					return fmt.Errorf("%w; %s shows the IDs", err, keysList(addr))
				}
				if _, err = s.RevokeKey(ctx, k.ID, time.Now()); err != nil {
					return keyOutcome(ctx, err, "revoked", addr)
				}
				fmt.Fprintf(env.stderr, "revoked %s (%s)\n", k.ID, printable(k.Name))
				return nil
			})
		},
	}
	addStoreFlag(cmd.Flags(), &addr)
	return cmd
}

// withKeys opens the store at addr and calls f with it.
func withKeys(ctx context.Context, env environment, addr string, o address.Options, f func(context.Context, keys.Store) error) error {
	s, err := openStore(ctx, env, addr, o)
	if err != nil {
		return err
	}
	err = f(ctx, s)
	return cmp.Or(err, s.Close()) // which may return the same failure
}

// keyOutcome adds to the error of a write whether a key was changed.
func keyOutcome(ctx context.Context, err error, done, addr string) error {
	return outcome(ctx, err, "no key was "+done, keysList(addr)+" shows whether the key was "+done)
}

// keysList returns the command that lists the keys of a store.
func keysList(addr string) string {
	return service.Name + " keys list --store " + address.Redact(addr)
}

func printKeys(out io.Writer, all []keys.Key) error {
	day := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return t.UTC().Format(time.DateOnly)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tMAY\tEXPIRES\tUSED\tCREATED\tNAME")
	for _, k := range all {
		may := "write"
		if k.ReadOnly {
			may = "read"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.State(time.Now()), may, day(k.ExpiresAt), day(k.UsedAt), day(k.CreatedAt), printable(k.Name))
	}
	return table.Flush()
}

// findKey returns the key with the ID named, or else the only active key with
// that name.
func findKey(all []keys.Key, named string, now time.Time) (keys.Key, error) {
	var found []keys.Key
	for _, k := range all {
		if k.ID == named {
			return k, nil
		}
		if k.Name == named && k.State(now) == keys.Active {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		return keys.Key{}, fmt.Errorf("no key has the ID %q, and %d active keys have that name", named, len(found))
	}
	return found[0], nil
}

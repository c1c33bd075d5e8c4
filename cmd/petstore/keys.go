package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/service"
)

func keysCommand(env *environment) *cobra.Command {
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

func keysCreateCommand(env *environment) *cobra.Command {
	var lifetime time.Duration
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a key and print it once",
		Long: `create adds an API key to the store and prints only the key to standard output.
The key cannot be shown again. NAME says who uses it. If there is no store, create
fails: "petstore migrate" makes one.`,
		Example: `  petstore keys create "nightly job" --expires-in 30d`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, token, err := keys.New(service.KeyPrefix, args[0], readOnly, time.Now(), lifetime)
			if err != nil {
				return misuse("%w", err)
			}
			err = changeKey(cmd.Context(), env, "created", func(s keys.Store) error {
				return s.CreateKey(cmd.Context(), k)
			})
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(env.stdout, token); err != nil {
				return fmt.Errorf("created the key %s, but printing it failed: %w", k.ID, err)
			}
			return nil
		},
	}
	addFlag(cmd.Flags(), &lifetime, parseLifetime, "expires-in", "expire after this `duration`, such as 30d or 12h")
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "allow the key to list and get pets, but not to add any")
	return onStore(env, cmd)
}

func keysListCommand(env *environment) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, without their secrets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := env.store.Keys(cmd.Context(), env.store.Text)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(env, all)
			}
			return printKeys(env, all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array, with times to the second")
	return onStore(env, cmd)
}

func keysRevokeCommand(env *environment) *cobra.Command {
	return onStore(env, &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "Revoke the key with an ID, or the only active key with a name",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return changeKey(ctx, env, "revoked", func(s keys.Store) error {
				k, err := findKey(ctx, s, args[0])
				if err != nil {
					return err
				}
				if _, err := s.RevokeKey(ctx, k.ID, time.Now()); err != nil {
					return err
				}
				fmt.Fprintf(env.stderr, "revoked %s (%s)\n", k.ID, k.Name)
				return nil
			})
		},
	})
}

// changeKey opens the store and calls f, which changes a key in it. Its errors say whether the
// key was changed; done is the verb: created or revoked.
func changeKey(ctx context.Context, env *environment, done string, f func(keys.Store) error) error {
	s, err := env.store.Open(ctx, env.store.Text, db.Options{MustExist: true, Logger: env.logger})
	if err != nil {
		return fmt.Errorf("%w; no key was %s", err, done)
	}
	defer s.Close() // it loses no acknowledged write
	err = f(s)
	switch {
	case err == nil:
		return nil
	case fault.KindOf(err) == fault.Internal: // the outcome is unknown
		return fmt.Errorf("%w; %s keys list --store %s shows whether the key was %s", err, service.Name, &env.store, done)
	}
	return fmt.Errorf("%w; no key was %s", err, done)
}

// findKey returns the key with the ID named, or else the only active key with that name.
func findKey(ctx context.Context, s keys.Store, named string) (keys.Key, error) {
	all, err := s.Keys(ctx)
	if err != nil {
		return keys.Key{}, err
	}
	var found []keys.Key
	for _, k := range all {
		if k.ID == named {
			return k, nil
		}
		if k.Name == named && k.State(time.Now()) == keys.Active {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		message := fmt.Sprintf("no key has the ID %q, and %d active keys have that name", named, len(found))
		return keys.Key{}, fault.New(fault.NotFound, message)
	}
	return found[0], nil
}

func printKeys(env *environment, all []keys.Key) error {
	day := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return t.UTC().Format(time.DateOnly)
	}
	may := map[bool]string{false: "write", true: "read"} // by Key.ReadOnly
	table := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tMAY\tEXPIRES\tUSED\tCREATED\tNAME")
	for _, k := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, k.State(time.Now()), may[k.ReadOnly],
			day(k.ExpiresAt), day(k.UsedAt), day(k.CreatedAt), k.Name)
	}
	return table.Flush()
}

func printJSON(env *environment, all []keys.Key) error {
	type row struct {
		keys.Key
		State keys.State `json:"state"`
	}
	rows := make([]row, 0, len(all)) // [] rather than null
	for _, k := range all {
		rows = append(rows, row{k, k.State(time.Now())})
	}
	lines := json.NewEncoder(env.stdout)
	lines.SetIndent("", "  ")
	return lines.Encode(rows)
}

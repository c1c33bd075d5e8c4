package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

func keysCommand(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list and revoke API keys",
		Long: `keys manages the API keys of a store, also while servers run on it: they notice
within 5 seconds. A store keeps only a hash of each key.

To replace a key, create another one, give it to its user, then revoke the old
one. An Idempotency-Key belongs to the API key of its request, so clients should
repeat a request with the key that they began with.

Secret scanners find a leaked key by this regular expression:

    ` + keys.TokenPattern,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysCreateCommand(env), keysListCommand(env), keysRevokeCommand(env))
	return cmd
}

func keysCreateCommand(env environment) *cobra.Command {
	var address, expiresIn string
	var readOnly, asJSON bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key and print it, this once",
		Long: `create makes an API key and prints it, and nothing else, on standard output. It
cannot be shown again. NAME is a note of who uses the key. If there is no store
yet, it is made.

With --json the key is the property "key" of an object.`,
		Example: `  petstore keys create "nightly import" --expires-in 30d
  petstore keys create dashboard --read-only
  KEY=$(petstore keys create demo)`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			lifetime, err := parseDuration(expiresIn)
			if err != nil {
				return badFlag("expires-in", "%q: %w", expiresIn, err)
			}
			k, token, err := keys.New(args[0], time.Now(), lifetime) // before a store is made
			if err != nil {
				return usageError{err}
			}
			k.ReadOnly = readOnly
			return withKeys(cmd.Context(), env, address, false, func(ctx context.Context, s pets.KeyStore) error {
				if err := s.CreateKey(ctx, k); err != nil {
					return err
				}
				if asJSON {
					return printJSON(env.stdout, struct {
						Token string `json:"key"`
						keyJSON
					}{token, newKeyJSON(k, time.Now())})
				}
				_, err := fmt.Fprintln(env.stdout, token)
				return err
			})
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &address)
	flags.StringVar(&expiresIn, "expires-in", "0", "the `duration` for which the key works, such as 30d or 12h; 0 for ever")
	flags.BoolVar(&readOnly, "read-only", false, "the key may list and fetch animals, but add none")
	addJSONFlag(flags, &asJSON)
	return cmd
}

func keysListCommand(env environment) *cobra.Command {
	var address string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, without their secrets",
		Long: `list prints the keys of a store, oldest first. STATE is active, or the day that
the key will expire, has expired or was revoked. USED is the day of its last
use, which servers store within a minute. Days are in UTC.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withKeys(cmd.Context(), env, address, true, func(ctx context.Context, s pets.KeyStore) error {
				all, err := s.Keys(ctx)
				switch {
				case err != nil:
					return err
				case asJSON:
					list := make([]keyJSON, 0, len(all)) // [] and not null
					for _, k := range all {
						list = append(list, newKeyJSON(k, time.Now()))
					}
					return printJSON(env.stdout, list)
				}
				return printKeys(env, all, time.Now())
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	addJSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

func keysRevokeCommand(env environment) *cobra.Command {
	var address string
	var yes bool
	cmd := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "Revoke a key for good",
		Long: `revoke ends a key for good. The key is named by its ID, as "petstore keys list"
shows it, or by its name if exactly one working key has it. Servers reject the
key within 5 seconds. At a terminal, revoke asks first.`,
		Example: `  petstore keys revoke 8Zk2mQ1x
  petstore keys revoke "nightly import" --yes`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), env, address, true, func(ctx context.Context, s pets.KeyStore) error {
				all, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				k, err := findKey(all, args[0], time.Now())
				if err == nil && env.interactive && !yes {
					err = confirm(env, fmt.Sprintf("Revoke the key %s (%s) for good?", k.ID, printable(k.Name)))
				}
				if err != nil {
					return err
				}
				if k, err = s.RevokeKey(ctx, k.ID, time.Now()); err != nil {
					return err
				}
				fmt.Fprintf(env.stderr, "revoked %s (%s)\n", k.ID, printable(k.Name))
				return nil
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask at a terminal")
	return cmd
}

// withKeys calls f with the keys of the store at an address.
func withKeys(ctx context.Context, env environment, address string, mustExist bool, f func(context.Context, pets.KeyStore) error) error {
	s, err := openStore(ctx, env, address, mustExist)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, s), s.Close())
}

// keyJSON is a key as --json prints it.
type keyJSON struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	State     pets.KeyState `json:"state"`
	ReadOnly  bool          `json:"readOnly"`
	CreatedAt time.Time     `json:"createdAt"`
	ExpiresAt time.Time     `json:"expiresAt,omitzero"`
	RevokedAt time.Time     `json:"revokedAt,omitzero"`
	UsedAt    time.Time     `json:"usedAt,omitzero"`
}

func newKeyJSON(k pets.Key, now time.Time) keyJSON {
	return keyJSON{k.ID, k.Name, k.State(now), k.ReadOnly, k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.UsedAt}
}

func printKeys(env environment, all []pets.Key, now time.Time) error {
	day := func(t time.Time, none string) string {
		if t.IsZero() {
			return none
		}
		return t.UTC().Format(time.DateOnly)
	}
	table := tabwriter.NewWriter(env.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tMAY\tUSED\tCREATED\tNAME")
	for _, k := range all {
		state := string(k.State(now))
		switch {
		case k.State(now) == pets.KeyRevoked:
			state += " " + day(k.RevokedAt, "")
		case k.State(now) == pets.KeyExpired:
			state += " " + day(k.ExpiresAt, "")
		case !k.ExpiresAt.IsZero():
			state = "until " + day(k.ExpiresAt, "")
		}
		may := "write"
		if k.ReadOnly {
			may = "read"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", k.ID, state, may, day(k.UsedAt, "never"), day(k.CreatedAt, ""), printable(k.Name))
	}
	return table.Flush()
}

// findKey returns the key with that ID, or else the working one with that name.
func findKey(all []pets.Key, named string, now time.Time) (pets.Key, error) {
	if i := slices.IndexFunc(all, func(k pets.Key) bool { return k.ID == named }); i >= 0 {
		return all[i], nil
	}
	var ids []string
	var found pets.Key
	for _, k := range all {
		if k.Name == named && k.State(now) == pets.KeyActive {
			ids, found = append(ids, k.ID), k
		}
	}
	switch len(ids) {
	case 0:
		return pets.Key{}, fmt.Errorf("no key has the ID %q, and none that works has it as its name; petstore keys list shows the keys", named)
	case 1:
		return found, nil
	}
	return pets.Key{}, fmt.Errorf("%d keys that work have the name %q; give the ID of one: %s", len(ids), named, strings.Join(ids, ", "))
}

// confirm asks the person at the terminal, and returns an error unless the
// answer is yes.
func confirm(env environment, question string) error {
	fmt.Fprint(env.stderr, question+" [y/N] ")
	line, _ := bufio.NewReader(env.stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
		return errors.New("nothing was revoked")
	}
	return nil
}

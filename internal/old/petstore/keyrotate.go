package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store"
)

func keysRotateCommand(env environment) *cobra.Command {
	var address string
	var overlap, lifetime time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rotate ID|NAME",
		Short: "Put a new key in the place of an old one",
		Long: `rotate makes a key with the name and the right of the old one and prints it, alone,
on standard output, this once. The old key works for the time of --overlap, and no
longer than it would have anyway: give its user the new one meanwhile.

The old key is named by its ID as "petstore keys list" shows it, or by its name
where exactly one key that still works has it.

An idempotency key belongs to the API key of its request: so a client repeats a
request with the API key that it began with.`,
		Example: `  petstore keys rotate "nightly import" --overlap 7d
  petstore keys rotate 8Zk2mQ1x --overlap 0s --json
  petstore keys rotate dashboard --expires-in 90d`,
		Args: exactly(1, " ID|NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if overlap < 0 {
				return program.Misuse("--overlap %v: give 0s or more", overlap)
			}
			return withKeys(cmd.Context(), address, store.MustExist, func(ctx context.Context, s pets.KeyStore) error {
				r, err := rotate(ctx, s, args[0], overlap, lifetime)
				if err != nil {
					return err
				}
				return r.print(env, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &address)
	program.AddDuration(flags, &overlap, "overlap", 24*time.Hour, "how long the old key works on, such as 7d or 12h; 0s ends it at once")
	program.AddDuration(flags, &lifetime, "expires-in", 0, "how long the new key works, such as 30d or 12h; 0 for ever")
	addJSONFlag(flags, &asJSON)
	return cmd
}

// rotation is a key, its successor and the successor's token.
type rotation struct {
	old, successor pets.Key
	token          string
}

// rotate rotates the key with that ID or name.
func rotate(ctx context.Context, s pets.KeyStore, named string, overlap, lifetime time.Duration) (r rotation, err error) {
	keys, err := s.Keys(ctx)
	if err != nil {
		return r, err
	}
	now := time.Now()
	k, err := keyNamed(keys, named, now)
	if err != nil && strings.HasPrefix(named, "fixed-") {
		return r, fmt.Errorf("%s is a fixed key: put another one into PETSTORE_API_KEYS or the file of PETSTORE_API_KEYS_FILE, and start the server again", named)
	}
	if err != nil {
		return r, err
	}
	if state := k.State(now); state != pets.KeyActive {
		return r, fmt.Errorf("the key %s is %s; make another with petstore keys create", describeKey(k), state)
	}
	if r.successor, r.token, err = k.Successor(now, lifetime); err != nil {
		return r, program.UsageError{Err: err}
	}
	r.old, err = s.RotateKey(ctx, k.ID, r.successor, r.successor.CreatedAt.Add(overlap))
	return r, err
}

// print prints the new key, and says when the old one expires.
func (r rotation) print(env environment, asJSON bool) error {
	now := time.Now()
	if asJSON {
		return printJSON(env.stdout, struct {
			newKeyJSON
			Replaces keyJSON `json:"replaces"`
		}{newKeyJSON{r.token, describeJSON(r.successor, now)}, describeJSON(r.old, now)})
	}
	if _, err := io.WriteString(env.stdout, r.token+"\n"); err != nil {
		return err
	}
	end := "works until " + r.old.ExpiresAt.UTC().Format(time.RFC3339)
	if r.old.State(now) != pets.KeyActive {
		end = "has ended"
	}
	_, err := fmt.Fprintf(env.stderr, "the old key %s %s\n", describeKey(r.old), end)
	return err
}

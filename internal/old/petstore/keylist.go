package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store"
)

func keysListCommand(env environment) *cobra.Command {
	var address string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the keys, without their secrets",
		Long: `list prints the keys of a store, oldest first. STATE is active, until the day the
key will expire, or the day it expired or was revoked. USED is the day of its last
use, which servers store within a minute. Days are those of UTC.`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withKeys(cmd.Context(), address, store.ReadOnly, func(ctx context.Context, s pets.KeyStore) error {
				keys, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					list := make([]keyJSON, 0, len(keys)) // [] and not null
					for _, k := range keys {
						list = append(list, describeJSON(k, time.Now()))
					}
					return printJSON(env.stdout, list)
				}
				return writeKeys(env.stdout, env.columns, keys, time.Now())
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	addJSONFlag(cmd.Flags(), &asJSON)
	return cmd
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

func describeJSON(k pets.Key, now time.Time) keyJSON {
	return keyJSON{
		ID: k.ID, Name: k.Name, State: k.State(now), ReadOnly: k.ReadOnly,
		CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt, UsedAt: k.UsedAt,
	}
}

// printNewKey prints a key that was made, with its secret.
func printNewKey(out io.Writer, k pets.Key, token string, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(out, token)
		return err
	}
	return printJSON(out, newKeyJSON{token, describeJSON(k, time.Now())})
}

// newKeyJSON is a key that was made just now, with its secret.
type newKeyJSON struct {
	Token string `json:"key"`
	keyJSON
}

// narrow is below how many columns a terminal has no room for the day of a key's
// creation. --json has it.
const narrow = 80

// writeKeys prints a table for a terminal of so many columns; 0 for any number.
func writeKeys(out io.Writer, columns int, keys []pets.Key, now time.Time) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(id, state, may, used, created, name string) {
		cells := []string{id, state, may, used, created, name}
		if columns > 0 && columns < narrow {
			cells = []string{id, state, may, used, name}
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	row("ID", "STATE", "MAY", "USED", "CREATED", "NAME")
	for _, k := range keys {
		may := "write"
		if k.ReadOnly {
			may = "read"
		}
		row(k.ID, stateOf(k, now), may, dayOf(k.UsedAt, "never"), dayOf(k.CreatedAt, ""), visible(k.Name))
	}
	return table.Flush()
}

func stateOf(k pets.Key, now time.Time) string {
	switch state := k.State(now); {
	case state == pets.KeyRevoked:
		return "revoked " + dayOf(k.RevokedAt, "")
	case state == pets.KeyExpired:
		return "expired " + dayOf(k.ExpiresAt, "")
	case !k.ExpiresAt.IsZero():
		return "until " + dayOf(k.ExpiresAt, "")
	}
	return "active"
}

func dayOf(t time.Time, never string) string {
	if t.IsZero() {
		return never
	}
	return t.UTC().Format(time.DateOnly)
}

// describeKey names a key in a message.
func describeKey(k pets.Key) string { return fmt.Sprintf("%s (%s)", k.ID, visible(k.Name)) }

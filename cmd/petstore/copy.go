package main

import (
	"context"
	"fmt"
	"iter"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

// counts holds how many records of each kind a command has copied.
type counts struct{ pets, keys, requests atomic.Int64 }

func copyCommand(env environment, copied *counts) *cobra.Command {
	var from, to string
	cmd := &cobra.Command{
		Use:   "copy",
		Short: "Copy a whole store into a new one",
		Long: `copy copies a store, for example from SQLite to PostgreSQL or back, into an empty one,
and creates that if there is none. It copies pets with their identifiers, API keys and
idempotency keys: all of them or, if anything fails, nothing. Stop the servers of the
store first, because what they write meanwhile is not copied.

PostgreSQL's variables PGPASSWORD and PGPASSFILE, and the file ~/.pgpass, keep passwords
out of the command line.`,
		Example: "  petstore copy --from sqlite:/srv/pets.db --to postgres://petstore@db/pets",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if isSameStore(from, to) {
				return misuse("--from and --to are the same store")
			}
			return copyStore(cmd.Context(), env, from, to, copied)
		},
	}
	addAddressFlag(cmd.Flags(), &from, "from", "", "the `address` of the store to copy, such as sqlite:/srv/pets.db")
	addAddressFlag(cmd.Flags(), &to, "to", "", "the `address` of an empty or a new store")
	return cmd
}

func isSameStore(a, b string) bool {
	path, _ := address.SQLitePath(a)
	other, _ := address.SQLitePath(b)
	info, _ := os.Stat(path)
	otherInfo, _ := os.Stat(other)
	return a == b || os.SameFile(info, otherInfo)
}

// copyStore copies the store at one address into the one at another.
func copyStore(ctx context.Context, env environment, from, to string, copied *counts) error {
	source, err := address.OpenReader(ctx, from)
	if err != nil {
		return lastWord(ctx, advise(err, from), nothingCopied)
	}
	defer source.Close()
	target, err := openStore(ctx, env, to, address.Options{})
	if err != nil {
		return lastWord(ctx, err, nothingCopied)
	}
	defer target.Close() // what it has acknowledged is durable
	from, to = address.Redact(from), address.Redact(to)
	if err := fill(ctx, source, target, from, to, copied); err != nil {
		return err
	}
	_, err = fmt.Fprintln(env.stderr, printable(fmt.Sprintf("copied %s to %s: %s, %s, %s", from, to,
		counted(copied.pets.Load(), "pet"), counted(copied.keys.Load(), "API key"),
		counted(copied.requests.Load(), "idempotency key")), ""))
	return err
}

const nothingCopied = "nothing was copied"

// fill copies source into target, whose names are from and to. Its error says whether
// anything was copied.
func fill(ctx context.Context, source store.Reader, target store.Store, from, to string, copied *counts) error {
	var reading, filling error
	err := source.Snapshot(ctx, func(s store.Snapshot) error {
		s.Pets = tally(s.Pets, &copied.pets, &reading)
		s.Requests = tally(s.Requests, &copied.requests, &reading)
		s.Keys = tally(s.Keys, &copied.keys, &reading)
		filling = target.Fill(ctx, s)
		return filling
	})
	switch {
	case err == nil:
		return nil
	case filling == nil || reading != nil:
		return lastWord(ctx, fmt.Errorf("%s: %w", from, err), nothingCopied)
	case pets.KindOf(filling) != pets.Internal:
		return lastWord(ctx, fmt.Errorf("%s: %w", to, filling), nothingCopied)
	}
	return lastWord(ctx, fmt.Errorf("%s: %w", to, filling),
		"either everything was copied or nothing: try again, since only an empty store is filled")
}

// tally yields all. It adds what it yields to n, and sets failure to an error of all.
func tally[T any](all iter.Seq2[T, error], n *atomic.Int64, failure *error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if err != nil {
				*failure = err
			} else {
				n.Add(1)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/address"
)

func copyCommand(env *environment) *cobra.Command {
	var from, to address.Address
	cmd := &cobra.Command{
		Use:   "copy",
		Short: "Copy a whole store into a new one",
		Long: `copy copies a store into an empty one, for example from SQLite to PostgreSQL, and
makes that if there is none. It copies pets with their identifiers, API keys and
idempotency keys: all of them or, if anything fails, nothing. Stop the servers of
the store first, because what they write meanwhile is not copied.

PostgreSQL's variables PGPASSWORD and PGPASSFILE, and the file ~/.pgpass, keep
passwords out of the command line.`,
		Example: "  petstore copy --from sqlite:/srv/pets.db --to postgres://petstore@db/pets",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return copyStore(cmd.Context(), env, &from, &to) },
	}
	cmd.Flags().Var(&from, "from", "the address of the store to copy, such as sqlite:/srv/pets.db")
	cmd.Flags().Var(&to, "to", "the address of an empty or a new store")
	_ = cmd.MarkFlagRequired("from") // the flag exists
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

// copyStore copies the store at one address into the one at another.
func copyStore(ctx context.Context, env *environment, from, to *address.Address) error {
	source, err := from.OpenReader(ctx)
	if err != nil {
		return fmt.Errorf("%w; nothing was copied", advise(err, from))
	}
	defer source.Close()
	target, err := to.Open(ctx, store.Options{Logger: env.logger})
	if err != nil {
		return fmt.Errorf("%w; nothing was copied", advise(err, to))
	}
	defer target.Close() // what it has acknowledged is durable
	var n store.Counts
	if env.terminal {
		ctx, done := context.WithCancel(ctx)
		defer done()
		go showProgress(ctx, env.stderr, &n)
	}
	if err := store.Copy(ctx, source, target, &n); err != nil {
		err = lastWord(err, "nothing was copied",
			"either everything was copied or nothing: try again, since only an empty store is filled")
		return fmt.Errorf("copying %s to %s: %w", from, to, err)
	}
	_, err = fmt.Fprintf(env.stderr, "copied pets: %d, API keys: %d, idempotency keys: %d\n",
		n.Pets.Load(), n.Keys.Load(), n.Requests.Load())
	return err
}

// showProgress prints every two seconds until ctx ends how many pets were copied.
func showProgress(ctx context.Context, out io.Writer, n *store.Counts) {
	for range time.Tick(2 * time.Second) {
		if ctx.Err() != nil {
			return
		}
		fmt.Fprintf(out, "copied pets: %d\n", n.Pets.Load())
	}
}

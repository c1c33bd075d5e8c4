package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/pets/store"
)

func backupCommand(env environment) *cobra.Command {
	var address string
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a snapshot of an SQLite store to a file",
		Long: `backup writes the store as it is at one moment to FILE, while servers go on
writing: animals, API keys and idempotency keys. The file has its name only once
it is whole, checked and on disk; its mode is 0600. "petstore restore" brings it
back.

The copy holds every animal that was acknowledged before it began. The log beside
the store grows meanwhile by what servers write.`,
		Example: `  petstore backup petstore-$(date +%F).db
  petstore backup --store sqlite:/var/lib/petstore/pets.db /mnt/backup/pets.db --force`,
		Args: exactly(1, " FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onFile(cmd.Context(), env, "copying", "no backup was made", func(ctx context.Context, progress func(float64)) error {
				report, err := store.Backup(ctx, address, args[0], force, progress)
				if err == nil {
					printReport(env.stderr, "backed up to "+args[0], report)
				}
				return err
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	return cmd
}

// onFile runs f, which works on a whole SQLite file, until a signal, and shows its
// progress. outcome describes the file after a signal.
func onFile(ctx context.Context, env environment, what, outcome string, f func(context.Context, func(float64)) error) error {
	ctx, stop := untilSignal(ctx)
	defer stop()

	done := 0.0
	p := newProgress(env, what, func() float64 { return done })
	err := f(ctx, func(part float64) {
		done = part
		p.tick()
	})
	p.end()
	if err != nil && ctx.Err() != nil {
		return interrupted(ctx, "interrupted; "+outcome)
	}
	return err
}

// printReport prints the contents of a file in numbers.
func printReport(to io.Writer, what string, r store.Report) {
	fmt.Fprintf(to, "%s: schema version %d, %s, %s, %.1f MiB\n", visible(what), r.Schema,
		counted(r.Animals, "animal"), counted(r.Keys, "key"), float64(r.Bytes)/(1<<20))
}

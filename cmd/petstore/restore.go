package main

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/pets/store"
)

func restoreCommand(env environment) *cobra.Command {
	var address string
	var force bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of an SQLite store",
		Long: `restore puts a copy of FILE, which "petstore backup" wrote, in the place of the
store, or makes the store where there is none. FILE stays as it is.

First a copy is made beside the store and checked. Nothing is changed while a
server holds the store: stop it first. A store with animals in it is replaced
only with --force. The old one is kept aside until the new one is in its place.`,
		Example: `  petstore restore petstore-2026-11-21.db
  petstore restore --store sqlite:/var/lib/petstore/pets.db --force /mnt/backup/pets.db`,
		Args: exactly(1, " FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onFile(cmd.Context(), env, "copying", "the store is as it was", func(ctx context.Context, progress func(float64)) error {
				report, err := store.Restore(ctx, address, args[0], force, progress)
				if err == nil {
					printReport(env.stderr, "restored "+store.Redact(address), report)
				}
				return err
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	cmd.Flags().BoolVar(&force, "force", false, "replace a store that holds animals, or cannot be read")
	return cmd
}

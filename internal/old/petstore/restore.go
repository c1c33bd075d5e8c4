package main

import (
	"context"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/pets/store"
)

func restoreCommand(env environment) *cobra.Command {
	var address string
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup in the place of an SQLite store",
		Long: `restore puts a copy of FILE, which "petstore backup" wrote, in the place of the
store, or makes the store where there is none. FILE stays as it is.

First a copy is made beside the store and checked. Nothing is changed while a
server holds the store: stop it first. A store with animals in it is replaced
only with --force. Whatever fails, the store is the old one or the whole new one.`,
		Example: `  petstore restore petstore-2026-11-21.db
  petstore restore --store sqlite:/var/lib/petstore/pets.db \
    --force /mnt/backup/pets.db`,
		Args: exactly(1, " FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return untilInterrupted(cmd.Context(), "the store is as it was", func(ctx context.Context) error {
				done := 0.0
				p := newProgress(env, "copying", func() float64 { return done })
				report, err := store.Restore(ctx, address, args[0], force, func(part float64) {
					done = part
					p.tick()
				})
				p.end()
				switch {
				case err != nil:
					return err
				case asJSON:
					return printJSON(env.stdout, newReportJSON(address, args[0], report))
				}
				return printReport(env.stderr, "restored "+store.Redact(address), report)
			})
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &address)
	flags.BoolVar(&force, "force", false, "replace a store that holds animals, or cannot be read")
	addJSONFlag(flags, &asJSON)
	return cmd
}

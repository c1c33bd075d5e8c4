package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/pets/store"
)

func backupCommand(env environment) *cobra.Command {
	var address string
	var force, asJSON bool
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
  petstore backup --store sqlite:/var/lib/petstore/pets.db \
    /mnt/backup/pets.db --force`,
		Args: exactly(1, " FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			fmt.Fprintf(env.stderr, "copying all of %s\n", visible(store.Redact(address)))
			return untilInterrupted(cmd.Context(), "no backup was made", func(ctx context.Context) error {
				report, err := store.Backup(ctx, address, args[0], force)
				switch {
				case err != nil:
					return err
				case asJSON:
					return printJSON(env.stdout, newReportJSON(address, args[0], report))
				}
				return printReport(env.stderr, "backed up to "+args[0], report)
			})
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &address)
	flags.BoolVar(&force, "force", false, "replace FILE if it is there")
	addJSONFlag(flags, &asJSON)
	return cmd
}

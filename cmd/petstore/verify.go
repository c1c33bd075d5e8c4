package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/pets/store"
)

func verifyCommand(env environment) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Look for damage in an SQLite store",
		Long: `verify reads all of the store and changes nothing: whether it is sound, the
version of its schema, and how many animals and keys it holds. Where it is
damaged, it says how, in SQLite's words, and exits with 1. It may run beside
servers, and on a backup: --store sqlite:FILE.`,
		Example: `  petstore verify
  petstore verify --store sqlite:petstore-2026-11-21.db`,
		Args: exactly(0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			fmt.Fprintf(env.stderr, "reading all of %s\n", visible(store.Redact(address)))
			report, err := store.Verify(cmd.Context(), address)
			if err != nil {
				return err
			}
			if err := report.Err(); err != nil {
				return fmt.Errorf("%s is damaged; restore a backup, or save the readable animals as deploy/README.md shows:\n%w", store.Redact(address), err)
			}
			printReport(env.stdout, store.Redact(address), report)
			_, err = fmt.Fprintln(env.stdout, "no damage was found")
			return err
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	return cmd
}

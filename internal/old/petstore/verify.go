package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/pets/store"
)

func verifyCommand(env environment) *cobra.Command {
	var address string
	var asJSON bool
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
			return untilInterrupted(cmd.Context(), "nothing was changed", func(ctx context.Context) error {
				report, err := store.Verify(ctx, address)
				if err != nil {
					return err
				}
				if asJSON {
					return errors.Join(printJSON(env.stdout, newReportJSON(address, "", report)), explainDamage(address, report))
				}
				if err := explainDamage(address, report); err != nil {
					return err
				}
				return printReport(env.stdout, store.Redact(address), report, "no damage was found")
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	addJSONFlag(cmd.Flags(), &asJSON)
	return cmd
}

// explainDamage tells the operator of damage what to do about it.
func explainDamage(address string, r store.Report) error {
	if err := r.Err(); err != nil {
		return fmt.Errorf("%s is damaged; restore a backup, or save the readable animals as deploy/README.md shows:\n%w", store.Redact(address), err)
	}
	return nil
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
)

func migrateCommand(env environment) *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of a store up to date",
		Long: `migrate brings the schema of the store up to date, as all commands that use the
store do. It is for servers whose PostgreSQL user may not change the schema: run it as
the owner of the tables before they start.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if store.Kind(address) == "sqlite" {
				st, err := openStore(cmd.Context(), env, address, store.Options{MustExist: true})
				if err != nil {
					return err
				}
				fmt.Fprintln(env.stdout, "the schema is up to date")
				return st.Close()
			}
			from, to, err := postgres.Migrate(cmd.Context(), address)
			if err != nil {
				return advise(err, address)
			}
			if from < to {
				fmt.Fprintf(env.stdout, "migrated from version %d to %d\n", from, to)
			}
			_, err = fmt.Fprintf(env.stdout, "the schema is at version %d\n", to)
			return err
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	return cmd
}

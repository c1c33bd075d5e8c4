package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/web"
)

// variables are the variables of the environment that stand in for flags.
const variables = program.Variables(web.Name)

// known returns the variables of all commands, and those that are no flags.
func known(root *cobra.Command) []string {
	names := []string{keysVariable, keysFileVariable, checkKeyVariable, "PETSTORE_URL"} // the last is what --sandbox prints
	everyCommand(root, func(cmd *cobra.Command) { names = append(names, variables.All(cmd.LocalFlags())...) })
	return names
}

// misspelt returns the variables that are almost one of a command's.
func misspelt(env environment, cmd *cobra.Command) []program.Misspelt {
	return variables.Misspelt(env.environ, known(cmd.Root()))
}

// addStoreFlag adds --store, which every command that works on a store has.
func addStoreFlag(flags *pflag.FlagSet, address *string) {
	*address = "sqlite:petstore.db"
	flags.Var(program.Judged{
		To: address, Kind: "address", Secret: true, Judge: store.CheckAddress,
		Words: []string{"sqlite:", "postgres://", store.Memory},
	}, "store", "where animals and keys are kept: "+store.Addresses)
}

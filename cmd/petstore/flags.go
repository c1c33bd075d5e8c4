package main

import (
	"github.com/spf13/pflag"

	"example.com/petstore/internal/edge/program"
	"example.com/petstore/internal/pets/store"
	"example.com/petstore/internal/pets/web"
)

// variables are those that stand in for flags.
const variables = program.Variables(web.Name)

// addStoreFlag adds --store, which every command that works on a store has.
func addStoreFlag(flags *pflag.FlagSet, address *string) {
	*address = "sqlite:petstore.db"
	flags.Var(program.Judged{
		To: address, Kind: "address", Secret: true, Judge: store.CheckAddress,
		Words: []string{"sqlite:", "postgres://", store.Memory},
	}, "store", "where animals and keys are kept: "+store.Addresses)
}

package main

import (
	"context"
	"log/slog"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

const (
	storeFlag  = "store"
	storeKinds = "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"
)

// addStoreFlag adds --store, which checkFlags checks.
func addStoreFlag(flags *pflag.FlagSet, address *string) {
	flags.StringVar(address, storeFlag, store.DefaultAddress, "the `address` of the store of animals and keys: "+storeKinds)
}

func addJSONFlag(flags *pflag.FlagSet, asJSON *bool) {
	flags.BoolVar(asJSON, "json", false, "print the result as JSON, for programs")
}

// openStore opens the store for a command that is no server.
func openStore(ctx context.Context, env environment, address string, mustExist bool) (pets.Store, error) {
	if store.Kind(address) == "memory" {
		return nil, errMemory
	}
	plain := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}}
	logger := slog.New(slog.NewTextHandler(env.stderr, plain))
	st, err := store.Open(ctx, address, store.Options{MustExist: mustExist, Logger: logger})
	if err != nil && ctx.Err() != nil {
		err = interrupted(ctx, "interrupted")
	}
	return st, err
}

var errMemory = misuse("the store memory: keeps nothing between programs; use --store sqlite:PATH, or give a server keys by %s", keysVariable)

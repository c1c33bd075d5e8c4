package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store"
)

func keysCommand(env environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "keys",
		Short: "Create, list, rotate and revoke API keys",
		Long: `keys manages the API keys of a store, also while servers run on it: they notice
within 5 seconds. A store keeps only a hash of each key.

Secret scanners find a key that has leaked by this regular expression:

    ` + pets.TokenPattern,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(keysCreateCommand(), keysListCommand(env), keysRotateCommand(env), keysRevokeCommand(env))
	return cmd
}

func keysCreateCommand() *cobra.Command {
	var address string
	var lifetime time.Duration
	var readOnly, asJSON bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key and print it, this once",
		Long: `create makes an API key and prints it, alone, on standard output. It cannot be
shown again. NAME is a note of who uses the key. The store is made if need be.
With --json the key is the property "key" of an object.`,
		Example: `  petstore keys create "nightly import" --expires-in 30d
  petstore keys create dashboard --read-only
  KEY=$(petstore keys create demo)`,
		Args: exactly(1, " NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, token, err := pets.NewKey(args[0], time.Now(), lifetime) // before a store is made
			if err != nil {
				return program.UsageError{Err: err}
			}
			k.ReadOnly = readOnly
			return withKeys(cmd.Context(), address, notifyOn(cmd.ErrOrStderr()), func(ctx context.Context, s pets.KeyStore) error {
				if err := s.CreateKey(ctx, k); err != nil {
					return err
				}
				return printNewKey(cmd.OutOrStdout(), k, token, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	addStoreFlag(flags, &address)
	program.AddDuration(flags, &lifetime, "expires-in", 0, "how long the key works, such as 30d or 12h; 0 for ever")
	flags.BoolVar(&readOnly, "read-only", false, "the key may list and fetch animals, and add none")
	addJSONFlag(flags, &asJSON)
	return cmd
}

// withKeys runs f on the keys of the store at that address.
func withKeys(ctx context.Context, address string, option store.Option, f func(context.Context, pets.KeyStore) error) (err error) {
	if address == store.Memory {
		return program.Misuse("the store memory: keeps no keys between programs; give its server keys by PETSTORE_API_KEYS, or use --store sqlite:PATH")
	}
	s, err := store.Open(ctx, address, option)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(ctx, s)
}

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store"
)

func keysRevokeCommand(env environment) *cobra.Command {
	var address string
	var yes bool
	cmd := &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "Revoke a key for good",
		Long: `revoke ends a key, named by its ID as "petstore keys list" shows it, or by its
name where exactly one key that still works has it. Servers turn it away within 5
seconds. It cannot be taken back; at a terminal it asks first.`,
		Example: `  petstore keys revoke 8Zk2mQ1x
  petstore keys revoke "nightly import" --yes`,
		Args: exactly(1, " ID|NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), address, store.MustExist, func(ctx context.Context, s pets.KeyStore) error {
				keys, err := s.Keys(ctx)
				if err != nil {
					return err
				}
				k, err := keyNamed(keys, args[0], time.Now())
				if err != nil {
					return err
				}
				if env.interactive && !yes {
					const untouched = "nothing was revoked"
					if err := confirm(ctx, env, fmt.Sprintf("Revoke the key %s for good?", describeKey(k)), untouched); err != nil {
						return err
					}
				}
				if k, err = s.RevokeKey(ctx, k.ID, time.Now()); err != nil {
					return err
				}
				_, err = fmt.Fprintf(env.stderr, "revoked %s\n", describeKey(k))
				return err
			})
		},
	}
	addStoreFlag(cmd.Flags(), &address)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask at a terminal")
	return cmd
}

// keyNamed returns the key with that ID, or else the one that works and has that
// name.
func keyNamed(keys []pets.Key, named string, now time.Time) (pets.Key, error) {
	if i := slices.IndexFunc(keys, func(k pets.Key) bool { return k.ID == named }); i >= 0 {
		return keys[i], nil
	}
	var ids []string
	var found pets.Key
	for _, k := range keys {
		if k.Name == named && k.State(now) == pets.KeyActive {
			ids, found = append(ids, k.ID), k
		}
	}
	switch len(ids) {
	case 0:
		return pets.Key{}, fmt.Errorf("no key has the ID %q, and none that works has it as its name; petstore keys list shows the keys", named)
	case 1:
		return found, nil
	}
	return pets.Key{}, fmt.Errorf("%d keys that work have the name %q; give the ID of one: %s", len(ids), named, strings.Join(ids, ", "))
}

// confirm asks the person at the terminal and returns nil for a yes. untouched
// says that nothing was done, for every other reply and for Ctrl-C.
func confirm(ctx context.Context, env environment, question, untouched string) error {
	ctx, stop := program.UntilSignal(ctx)
	defer stop()
	fmt.Fprint(env.stderr, question+" [y/N] ")
	read := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(env.stdin).ReadString('\n')
		read <- line
	}()
	var reply string
	select {
	case reply = <-read:
	case <-ctx.Done():
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(env.stderr)
		return interrupted(ctx, "interrupted; "+untouched)
	case strings.EqualFold(strings.TrimSpace(reply), "y"), strings.EqualFold(strings.TrimSpace(reply), "yes"):
		return nil
	case !strings.HasSuffix(reply, "\n"):
		fmt.Fprintln(env.stderr) // the question's line is still open
	}
	return errors.New(untouched)
}

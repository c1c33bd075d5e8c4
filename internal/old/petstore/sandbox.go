package main

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"example.com/petstore/internal/old/edge/program"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/animals"
	"example.com/petstore/internal/old/pets/keys"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/web"
)

// sandboxAnimals is the number of animals in a sandbox: enough for several pages of
// every status.
const sandboxAnimals = 300

// enterSandbox completes the configuration of a sandbox, and refuses flags that a
// sandbox cannot keep.
func enterSandbox(flags *pflag.FlagSet, cfg *serveConfig) error {
	switch {
	case flags.Changed("store"):
		return program.Misuse("--sandbox has a store of its own, in memory; leave out --store, and PETSTORE_STORE")
	case cfg.mustExist:
		return program.Misuse("--sandbox makes its store anew at every start; leave out --must-exist, and PETSTORE_MUST_EXIST")
	case cfg.requireSync:
		return program.Misuse("--sandbox keeps nothing, on no machine; leave out --require-sync, and PETSTORE_REQUIRE_SYNC")
	}
	cfg.store = store.Memory
	return nil
}

// fillSandbox adds its animals to the store.
func fillSandbox(ctx context.Context, st pets.PetStore) error {
	body, err := web.Body()
	if err != nil {
		return err
	}
	_, err = st.Load(ctx, animals.First(sandboxAnimals, body))
	return err
}

// showSandbox prints where the sandbox is and, unless its keys are fixed, a key to it,
// in a form that a shell reads. A person at a terminal gets a line to try it.
func showSandbox(ctx context.Context, env environment, s pets.KeyStore, keyring *keys.Keyring, url string) error {
	text := fmt.Sprintf("PETSTORE_URL=%s%s\n", url, web.BasePath)
	if keyring.Fixed() == 0 {
		token, err := makeKey(ctx, s, "sandbox")
		if err != nil {
			return err
		}
		text += "PETSTORE_KEY=" + token + "\n"
		if env.interactive { // no script reads it
			text += "\nTry it from another terminal:\n\n" + curlLine(token, url) + "\n"
		}
	}
	_, err := fmt.Fprint(env.stdout, text)
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// basePath is the path of the document's operations.
const basePath = "/v1"

// The variables of fixed keys. They are no flags, which a list of processes
// shows.
const (
	keysVariable     = "PETSTORE_API_KEYS"
	keysFileVariable = "PETSTORE_API_KEYS_FILE"
)

// fixedKeys returns the keys of PETSTORE_API_KEYS, separated by commas, or of
// the file that PETSTORE_API_KEYS_FILE names, one on each line.
func fixedKeys(getenv func(string) string) ([]string, error) {
	list, path := getenv(keysVariable), getenv(keysFileVariable)
	source, fixed := keysVariable, strings.Split(list, ",")
	switch {
	case list != "" && path != "":
		return nil, misuse("both %s and %s are set; unset one of them", keysVariable, keysFileVariable)
	case path != "":
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, misuse("%s: %w", keysFileVariable, err)
		}
		source, fixed = keysFileVariable+": "+path, strings.Fields(strings.ReplaceAll(string(text), ",", " "))
		if len(fixed) == 0 {
			return nil, misuse("%s: there is no key in the file; put one on each line", source)
		}
	case list == "":
		return nil, nil
	}
	if _, err := keys.NewKeyring(nil, fixed, time.Now); err != nil {
		return nil, misuse("%s: %w", source, err)
	}
	return fixed, nil
}

// needsKey reports whether to make the first key for the person at the terminal.
// If there is nobody, it logs how to make one.
func (cfg serveConfig) needsKey(ctx context.Context, env environment, logger *slog.Logger, st pets.KeyStore) (bool, error) {
	if cfg.sandbox || len(cfg.fixedKeys) > 0 {
		return false, nil
	}
	existing, err := st.Keys(ctx)
	switch {
	case err != nil || len(existing) > 0:
		return false, err
	case env.interactive:
		return true, nil
	case store.Kind(cfg.store) == "memory":
		return false, errors.New("the store memory: has no key, and none can be added later; set " + keysVariable)
	}
	logger.Warn("the store has no API key yet, so every request is refused", "fix", "petstore keys create NAME --store "+store.Redact(cfg.store))
	return false, nil
}

// printFirstKey makes a key and shows it to the person at the terminal.
func printFirstKey(ctx context.Context, env environment, st pets.KeyStore, address string) error {
	token, err := makeKey(ctx, st, "made by the first start")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, `
This store has no API key yet, so here is one. It is shown only this once:

  %s

Try it from another terminal:

  curl -H 'Authorization: Bearer %[1]s' %[2]s%[3]s/pets

or in a browser, at %[2]s/docs

`, token, address, basePath)
	return err
}

func makeKey(ctx context.Context, st pets.KeyStore, name string) (string, error) {
	k, token, err := keys.New(name, time.Now(), 0)
	if err != nil {
		return "", err
	}
	return token, st.CreateKey(ctx, k)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
	"example.com/petstore/internal/pets/store"
	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/reason"
)

// fixedKeys returns the keys of PETSTORE_API_KEYS, or of the file that
// PETSTORE_API_KEYS_FILE names, where neither a list of processes nor the
// inspection of a container shows them. They stand between commas or line ends.
func fixedKeys(getenv func(string) string) ([]string, error) {
	const variable, fileVariable = "PETSTORE_API_KEYS", "PETSTORE_API_KEYS_FILE"
	keyring, path, source := getenv(variable), getenv(fileVariable), variable
	switch {
	case keyring != "" && path != "":
		return nil, usageError{errors.New("both PETSTORE_API_KEYS and PETSTORE_API_KEYS_FILE are set; unset one of them")}
	case path != "":
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, usageError{fmt.Errorf("%s: cannot read %s: %w", fileVariable, path, reason.Of(err))}
		}
		keyring = strings.Join(strings.Fields(string(text)), ",")
		keyring, source = strings.Trim(strings.ReplaceAll(keyring, ",,", ","), ","), fileVariable+", "+path
		if keyring == "" {
			return nil, usageError{fmt.Errorf("%s: no key is in the file; put one on each line", source)}
		}
	case keyring == "":
		return nil, nil
	}
	fixed := strings.Split(keyring, ",")
	if err := keys.CheckFixed(fixed); err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", source, err)}
	}
	return fixed, nil
}

var errNoKeyEver = errors.New("the store memory: has no key, and none can be added later; set PETSTORE_API_KEYS")

// ensureKey makes sure that the server can be used. Where the store has no key, it
// makes one for the person at the terminal, or logs how to make one. It refuses a
// store in memory that could never get a key.
func ensureKey(ctx context.Context, env environment, logger *slog.Logger, cfg serveConfig, s pets.KeyStore, keyring *keys.Keyring, url string) error {
	if keyring.Fixed() > 0 {
		return nil
	}
	existing, err := s.Keys(ctx)
	switch {
	case err != nil:
		return err
	case len(existing) > 0:
		return nil
	case env.interactive:
		k, token, err := pets.NewKey("made by the first start", time.Now(), 0)
		if err != nil {
			return err
		}
		if err := s.CreateKey(ctx, k); err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, `
This store has no API key yet, so here is one. It is shown only this once:

  %s

Try it from another terminal:

  curl -H 'Authorization: Bearer %s' %s%s/pets

or in a browser, at %s%s

`, token, token, url, web.BasePath, url, edge.DocsPath)
		return err
	case cfg.store == store.Memory:
		return errNoKeyEver
	}
	logger.Warn("the store has no API key yet, so every request is refused", "fix", "petstore keys create NAME --store "+store.Redact(cfg.store))
	return nil
}

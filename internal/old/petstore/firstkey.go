package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"example.com/petstore/internal/old/edge"
	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/keys"
	"example.com/petstore/internal/old/pets/store"
	"example.com/petstore/internal/old/pets/web"
)

// curlLine returns the line of a shell that lists animals.
func curlLine(token, url string) string {
	return fmt.Sprintf("  curl -H 'Authorization: Bearer %s' %s%s/pets\n", token, url, web.BasePath)
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
		token, err := makeKey(ctx, s, "made by the first start")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, `
This store has no API key yet, so here is one. It is shown only this once:

  %s

Try it from another terminal:

%s
or in a browser, at %s there.

`, token, curlLine(token, url), edge.DocsPath)
		return err
	case cfg.store == store.Memory:
		return errNoKeyEver
	}
	logger.Warn("the store has no API key yet, so every request is refused", "fix", "petstore keys create NAME --store "+store.Redact(cfg.store))
	return nil
}

// makeKey adds a key to the store, and returns its token.
func makeKey(ctx context.Context, s pets.KeyStore, name string) (token string, err error) {
	k, token, err := pets.NewKey(name, time.Now(), 0)
	if err != nil {
		return "", err
	}
	return token, s.CreateKey(ctx, k)
}

package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/files"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/service"
	"example.com/petstore/internal/store"
)

// Environment variables for fixed keys. They have no flags: ps shows flags.
var (
	keysVariable     = variablePrefix + "API_KEYS"
	keysFileVariable = keysVariable + "_FILE"
)

// fixedKeys returns the keys in PETSTORE_API_KEYS or in the file that
// PETSTORE_API_KEYS_FILE names, separated by commas or white space.
func fixedKeys(getenv func(string) string) ([]string, error) {
	source, text := keysVariable, getenv(keysVariable)
	if path := getenv(keysFileVariable); path != "" {
		if text != "" {
			return nil, misuse("both %s and %s are set; unset one of them", keysVariable, keysFileVariable)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, misuse("%s: %w", keysFileVariable, err)
		}
		source, text = keysFileVariable+": "+path, string(content)
	}
	fixed := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if err := keys.CheckFixed(fixed); err != nil {
		return nil, misuse("%s: %w", source, err)
	}
	return fixed, nil
}

// printSandbox prints the address of a sandbox and new keys as shell variables.
func printSandbox(ctx context.Context, out io.Writer, st keys.Store, url string) error {
	token, err := createKey(ctx, st, "sandbox", false)
	if err != nil {
		return err
	}
	readOnly, err := createKey(ctx, st, "read-only", true)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(out, variablePrefix, "URL=", url, "\n", variablePrefix, "READ_ONLY_KEY=", readOnly, "\n", variablePrefix, "KEY=", token, "\n")
	return err
}

// offerKey creates and prints a key at a terminal if the store has none. Elsewhere it
// logs how to create one.
func (cfg serveConfig) offerKey(ctx context.Context, env environment, logger *slog.Logger, st keys.Store, address, base string) error {
	existing, err := st.Keys(ctx)
	if err != nil || len(cfg.fixedKeys)+len(existing) > 0 {
		return err
	}
	if !env.interactive {
		logger.Warn("the store has no API key yet, so every request is refused", "fix", service.Name+" keys create NAME --store "+store.Redact(cfg.store))
		return nil
	}
	token, err := createKey(ctx, st, "created at first start", false)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.stdout, "\nThe store had no API key, so here is one. It is shown only this once:\n\n  %s\n\n", token)
	_, err = fmt.Fprintf(env.stdout, "Try it with curl, or in a browser at %s/docs:\n\n  curl -H 'Authorization: Bearer %s' %s%s/pets\n\n", address, token, address, base)
	return err
}

func createKey(ctx context.Context, st keys.Store, name string, readOnly bool) (token string, err error) {
	k, token, err := keys.New(name, time.Now(), 0)
	if err != nil {
		return "", err
	}
	k.ReadOnly = readOnly
	return token, st.CreateKey(ctx, k)
}

// sandboxPets holds 300 pets from the outcome records of the Austin Animal
// Center, which the City of Austin publishes as open data. categoryId is 1 for
// dogs, 2 for cats, 3 for birds, 4 for livestock and 5 for others.
//
//go:embed sandbox.csv
var sandboxPets string

func fillSandbox(ctx context.Context, st pets.Store) error {
	decode, err := service.BodyDecoder()
	if err != nil {
		return err
	}
	rows := files.Read(strings.NewReader(sandboxPets), files.Options{Name: "sandbox.csv", Format: files.CSV, MaxBody: edge.MaxBody, Decode: decode})
	_, err = files.Import(ctx, st, rows, false)
	return err
}

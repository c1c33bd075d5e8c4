package main

import (
	"context"
	_ "embed"
	"fmt"
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
	if strings.ContainsAny(text, "#\ufeff") {
		return nil, misuse("%s: comments and a byte order mark are not supported; put only one key on each line", source)
	}
	fixed := strings.Fields(strings.ReplaceAll(text, ",", " "))
	if len(fixed) == 0 && source != keysVariable {
		return nil, misuse("%s: there is no key in the file; put one on each line", source)
	}
	if err := keys.CheckFixed(fixed); err != nil {
		return nil, misuse("%s: %w", source, err)
	}
	return fixed, nil
}

// welcome prints the address and key of a sandbox as shell variables. If another
// store has no key, it creates and prints one at a terminal, and elsewhere logs how
// to create one.
func (cfg serveConfig) welcome(ctx context.Context, env environment, logger *slog.Logger, st keys.Store, address, base string) error {
	existing, err := st.Keys(ctx)
	needsKey := len(cfg.fixedKeys)+len(existing) == 0
	switch {
	case err != nil, !needsKey && !cfg.sandbox: // nothing to print
		return err
	case needsKey && !cfg.sandbox && !env.interactive:
		logger.Warn("the store has no API key yet, so every request is refused", "fix", service.Name+" keys create NAME --store "+store.Redact(cfg.store))
		return nil
	}
	text, token := "", ""
	if cfg.sandbox {
		text = "%[4]sURL=%[1]s%[2]s\n"
	}
	if needsKey {
		var k keys.Key
		if k, token, err = keys.New("created at first start", time.Now(), 0); err == nil {
			err = st.CreateKey(ctx, k)
		}
		if err != nil {
			return err
		}
		if cfg.sandbox {
			text += "%[4]sKEY=%[3]s\n"
		} else {
			text = firstKey
		}
	}
	_, err = fmt.Fprintf(env.stdout, text, address, base, token, variablePrefix)
	return err
}

const firstKey = `
The store had no API key, so here is one. It is shown only this once:

  %[3]s

Try it with curl, or in a browser at %[1]s/docs:

  curl -H 'Authorization: Bearer %[3]s' %[1]s%[2]s/pets

`

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

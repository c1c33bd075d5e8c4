// Package address opens stores by their addresses.
package address

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"unicode"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// Forms lists the forms of an address.
const Forms = "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"

// Address is the address of a store. A pointer to it is the value of a flag.
type Address struct {
	Kind string // "sqlite", "postgres" or "memory"
	Path string // of an SQLite store
	text string
}

// serverAddress matches what looks like the address of a server with a password, which
// must not be printed as a path.
var serverAddress = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:(//|.*@)`)

// Set sets a to the address in text, which must have one of the forms. Its errors do not
// contain the text, which may hold a password.
func (a *Address) Set(text string) error {
	path, isFile := strings.CutPrefix(text, "sqlite:")
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("the address of a store has a control character, such as a line feed at its end")
	case isFile && !serverAddress.MatchString(path):
		*a = Address{"sqlite", path, text}
	case strings.HasPrefix(text, "postgres://"), strings.HasPrefix(text, "postgresql://"):
		*a = Address{"postgres", "", text}
	case text == "memory:":
		*a = Address{"memory", "", text}
	default:
		return fmt.Errorf("unknown store: use %s", Forms)
	}
	return nil
}

// String returns the address without its password.
func (a *Address) String() string {
	switch a.Kind {
	case "postgres":
		return postgres.Redact(a.text)
	}
	return a.text
}

// Type names the values of a flag.
func (a *Address) Type() string { return "address" }

// Open opens the store at a, creating it if it does not exist, and brings its schema up
// to date.
func (a *Address) Open(ctx context.Context, o db.Options) (store.Store, error) {
	switch a.Kind {
	case "sqlite":
		return sqlite.Open(ctx, a.Path, o)
	case "postgres":
		return postgres.Open(ctx, a.text, o)
	}
	return memory.New(), nil
}

var errVolatile = errors.New("a store in memory ends with its process")

// OpenReader opens the store at a, which is not a memory store, as it is.
func (a *Address) OpenReader(ctx context.Context) (store.Reader, error) {
	switch a.Kind {
	case "sqlite":
		return sqlite.OpenReader(ctx, a.Path)
	case "postgres":
		return postgres.OpenReader(ctx, a.text)
	}
	return nil, errVolatile
}

// Migrate brings the schema of the store at a, which is not a memory store, up to date,
// and returns the versions before and after. It creates a store if there is none.
func (a *Address) Migrate(ctx context.Context, logger *slog.Logger) (from, to int64, err error) {
	switch a.Kind {
	case "sqlite":
		return sqlite.Migrate(ctx, a.Path, logger)
	case "postgres":
		return postgres.Migrate(ctx, a.text, logger)
	}
	return 0, 0, errVolatile
}

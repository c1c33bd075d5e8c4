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

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// Default is the address to use if none is given.
const Default = "sqlite:petstore.db"

// Forms lists the forms of an address, for error messages.
const Forms = "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"

// Options configures Open. The zero value is valid.
type Options struct {
	MustExist   bool         // fail if there is no store, instead of creating one
	RequireSync bool         // fail unless a PostgreSQL server waits for a synchronous standby
	Logger      *slog.Logger // may be nil
}

// Open opens the store at address, creating it if it does not exist, and brings its
// schema up to date. Its errors, like those of the other functions, never contain the
// password.
func Open(ctx context.Context, address string, o Options) (store.Store, error) {
	switch Kind(address) {
	case "sqlite":
		path, _ := SQLitePath(address)
		return sqlite.Open(ctx, path, sqlite.Options{MustExist: o.MustExist, Logger: o.Logger})
	case "postgres":
		return postgres.Open(ctx, address, postgres.Options(o))
	case "memory":
		return memory.New(), nil
	}
	return nil, Check(address)
}

// OpenReader opens the store at address, which is not a memory store, as it is.
func OpenReader(ctx context.Context, address string) (store.Reader, error) {
	switch Kind(address) {
	case "sqlite":
		path, _ := SQLitePath(address)
		return sqlite.OpenReader(ctx, path)
	case "postgres":
		return postgres.OpenReader(ctx, address)
	}
	return nil, Check(address)
}

// Migrate brings the schema of the store at address, which is not a memory store, to a
// version, or to the newest if it is 0, and returns the versions before and after. It
// creates a store if there is none.
func Migrate(ctx context.Context, address string, version int64, logger *slog.Logger) (from, to int64, err error) {
	switch Kind(address) {
	case "sqlite":
		path, _ := SQLitePath(address)
		return sqlite.Migrate(ctx, path, version, logger)
	case "postgres":
		return postgres.Migrate(ctx, address, version, logger)
	}
	return 0, 0, Check(address)
}

// Check returns an error unless address has one of the forms.
func Check(address string) error {
	switch {
	case strings.ContainsFunc(address, unicode.IsControl):
		return errors.New("the address of a store has a control character, such as a line feed at its end")
	case Kind(address) == "":
		return fmt.Errorf("unknown store %q: use %s", Redact(address), Forms)
	}
	return nil
}

// serverAddress matches what looks like the address of a server with a password, which
// must not be printed as a path.
var serverAddress = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:(//|.*@)`)

// Kind returns the kind of store at address: "sqlite", "postgres" or "memory",
// or "" if Check fails.
func Kind(address string) string {
	path, isFile := strings.CutPrefix(address, "sqlite:")
	switch {
	case strings.ContainsFunc(address, unicode.IsControl):
		return ""
	case isFile && !serverAddress.MatchString(path):
		return "sqlite"
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return "postgres"
	case address == "memory:":
		return "memory"
	}
	return ""
}

// SQLitePath returns the path in the address of an SQLite store.
func SQLitePath(address string) (path string, ok bool) {
	return strings.TrimPrefix(address, "sqlite:"), Kind(address) == "sqlite"
}

// Redact returns address without its password, and of one that Open rejects the scheme.
func Redact(address string) string {
	scheme, _, found := strings.Cut(address, ":")
	switch kind := Kind(address); {
	case kind == "postgres":
		return postgres.Redact(address)
	case kind == "" && strings.ContainsAny(scheme, "@= "): // perhaps a connection string for psql
		return "…"
	case kind == "" && found:
		return scheme + ":…"
	}
	return address
}

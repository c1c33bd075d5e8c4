// Package address opens stores by their addresses.
package address

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

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
	MustExist   bool         // fail if the SQLite file does not exist
	RequireSync bool         // fail unless a PostgreSQL server waits for a synchronous standby
	Logger      *slog.Logger // may be nil
}

// Open opens the store at address, creating the SQLite file if it does not
// exist, and brings the schema up to date. Errors never contain the password.
func Open(ctx context.Context, address string, o Options) (store.Store, error) {
	switch Kind(address) {
	case "sqlite":
		path, _ := SQLitePath(address)
		return opened(sqlite.Open(ctx, path, sqlite.Options{MustExist: o.MustExist, Logger: o.Logger}))
	case "postgres":
		return opened(postgres.Open(ctx, address, postgres.Options{RequireSync: o.RequireSync, Logger: o.Logger}))
	case "memory":
		return memory.New(), nil
	}
	return nil, fmt.Errorf("unknown store %q: use %s", Redact(address), Forms)
}

// opened returns a nil interface on error, not one that holds a nil pointer.
func opened[S store.Store](s S, err error) (store.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Kind returns the kind of store at address: "sqlite", "postgres" or "memory",
// or "" if address has none of the forms in Forms.
func Kind(address string) string {
	_, isFile := SQLitePath(address)
	switch {
	case isFile:
		return "sqlite"
	case strings.HasPrefix(address, "postgres://"), strings.HasPrefix(address, "postgresql://"):
		return "postgres"
	case address == "memory:":
		return "memory"
	}
	return ""
}

// maySecret matches what may contain a password: a URL, user:password@ or password=.
var maySecret = regexp.MustCompile(`(?i)://|:.*@|pass\w*\s*=`)

// SQLitePath returns the path in the address of an SQLite store. It rejects what looks
// like the address of a server, so that no password is printed as part of a path.
func SQLitePath(address string) (path string, ok bool) {
	path, ok = strings.CutPrefix(address, "sqlite:")
	if !ok || maySecret.MatchString(path) {
		return "", false
	}
	return path, true
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

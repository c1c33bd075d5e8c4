// Package store opens the stores by their addresses.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// DefaultAddress is the address of the store unless another is given.
const DefaultAddress = "sqlite:petstore.db"

// Addresses are the forms of an address, for messages.
const Addresses = "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"

// Options are the options of Open. The zero value is fine.
type Options struct {
	MustExist   bool         // do not make an SQLite file that does not exist
	RequireSync bool         // fail unless a PostgreSQL server waits for a synchronous standby
	Logger      *slog.Logger // may be nil
}

// Open opens the store at address, creates an SQLite file that does not exist,
// and brings the schema up to date. Errors do not show passwords.
func Open(ctx context.Context, address string, o Options) (pets.Store, error) {
	kind := Kind(address)
	if o.RequireSync && kind != "" && kind != "postgres" {
		return nil, errors.New("only a postgres:// store can have a synchronous standby: leave out --require-sync")
	}
	switch kind {
	case "sqlite":
		path, _ := SQLitePath(address)
		return opened(sqlite.Open(ctx, path, sqlite.Options{MustExist: o.MustExist, Logger: o.Logger}))
	case "postgres":
		return opened(postgres.Open(ctx, address, postgres.Options{RequireSync: o.RequireSync, Logger: o.Logger}))
	case "memory":
		return memory.New(), nil
	}
	return nil, fmt.Errorf("unknown store %q: use %s", Redact(address), Addresses)
}

// opened keeps a nil pointer from becoming an interface that is not nil.
func opened[S pets.Store](s S, err error) (pets.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Kind returns "sqlite", "postgres" or "memory", or "" if Open accepts no such
// address.
func Kind(address string) string {
	if address == "memory:" {
		return "memory"
	}
	if isPostgres(address) {
		return "postgres"
	}
	if _, ok := SQLitePath(address); ok {
		return "sqlite"
	}
	return ""
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// SQLitePath returns the path in the address of an SQLite store. It rejects
// what looks like the address of a server, so that no password is shown as a
// part of a path.
func SQLitePath(address string) (path string, ok bool) {
	path, ok = strings.CutPrefix(address, "sqlite:")
	if !ok || maySecret.MatchString(path) {
		return "", false
	}
	return path, true
}

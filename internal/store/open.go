// Package store opens stores by their addresses. It is the one place that
// knows which there are.
package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/sqlite"
)

// Memory is the address of the store that keeps nothing.
const Memory = "memory:"

// Addresses says which addresses Open takes, for -h and error messages.
const Addresses = "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"

// Open opens the store at that address, makes it and brings its schema up to
// date if need be. The caller closes it.
func Open(ctx context.Context, address string) (petstore.Store, error) {
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case found && scheme == "sqlite":
		return opened(sqlite.Open(ctx, rest))
	case isPostgres(address):
		return opened(postgres.Open(ctx, address))
	case address == Memory:
		return memory.New(), nil
	}
	return nil, fmt.Errorf("unknown store %q: give %s", Redact(address), Addresses)
}

// OpenExisting is Open for whoever wants what is in the store: it makes no new
// file.
func OpenExisting(ctx context.Context, address string) (petstore.Store, error) {
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok && path != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no database %s; name the right one with --store", path)
		}
	}
	return Open(ctx, address)
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// RequireSync returns an error unless s is a store that acknowledges nothing
// which only one machine has.
func RequireSync(ctx context.Context, s petstore.Store) error {
	p, ok := s.(*postgres.Store)
	if !ok {
		return errors.New("--require-sync: only a postgres:// store can have a synchronous standby; leave it out")
	}
	return p.RequireSync(ctx)
}

// Redact returns the address without what is secret of it, for logs.
func Redact(address string) string {
	scheme, _, found := strings.Cut(address, ":")
	switch {
	case isPostgres(address):
		return postgres.Redact(address)
	case scheme == "sqlite" || address == Memory:
		return address
	case found && !strings.ContainsAny(scheme, "@= "):
		return scheme + ":…" // a misspelt postgres://, perhaps
	case strings.ContainsAny(address, "@="):
		return "…" // as psql takes it, perhaps
	}
	return address
}

// opened returns no store at all beside an error, where a nil pointer of a
// store's own type would not be nil any more.
func opened[S petstore.Store](s S, err error) (petstore.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

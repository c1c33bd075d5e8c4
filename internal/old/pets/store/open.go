// Package store opens stores by their addresses. No other package of the program
// knows the kinds of stores.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/memory"
	"example.com/petstore/internal/old/pets/store/postgres"
	"example.com/petstore/internal/old/pets/store/sqlite"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// Memory is the address of the store that keeps nothing.
const Memory = "memory:"

// Addresses says which addresses Open takes, for -h and error messages.
const Addresses = "sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE or memory:"

// Option says how a store is opened.
type Option func(*sqlite.Options)

// MustExist refuses an SQLite file that is not there, instead of making it.
func MustExist(o *sqlite.Options) { o.MustExist = true }

// ReadOnly opens a store for reading only: nothing is made, and nothing changed. An
// SQLite file with an older schema is read by a copy; such a PostgreSQL database is
// refused.
func ReadOnly(o *sqlite.Options) { o.ReadOnly = true }

// Notify has Open call made with the path of an SQLite store that it made. Open calls
// warn with a sentence for each fault that the operator should mend, such as a file
// that other users may read.
func Notify(made, warn func(string)) Option {
	return func(o *sqlite.Options) { o.Made, o.Notify = made, warn }
}

// CheckAddress returns an error, without a secret in it, where Open would refuse the
// address whatever stands there. It opens no store.
func CheckAddress(address string) error {
	path, isFile := strings.CutPrefix(address, "sqlite:")
	switch {
	case isFile:
		return dbfile.CheckName(path)
	case isPostgres(address):
		return postgres.CheckAddress(address)
	case address == Memory:
		return nil
	}
	return fmt.Errorf("unknown store %q: give %s", Redact(address), Addresses)
}

// Open opens the store at that address, makes it and brings its schema up to
// date if need be, unless an option says otherwise. The caller closes it.
func Open(ctx context.Context, address string, options ...Option) (pets.Store, error) {
	var o sqlite.Options
	for _, option := range options {
		option(&o)
	}
	scheme, rest, found := strings.Cut(address, ":")
	switch {
	case found && scheme == "sqlite":
		return opened(sqlite.Open(ctx, rest, o))
	case isPostgres(address) && o.ReadOnly:
		return opened(postgres.OpenReadOnly(ctx, address))
	case isPostgres(address):
		return opened(postgres.Open(ctx, address))
	case address == Memory:
		return memory.New(), nil
	}
	return nil, CheckAddress(address)
}

// InUse reports whether another process, such as a server, holds the SQLite
// file at that address. Other stores are made to be shared.
func InUse(address string) (bool, error) {
	path, ok := strings.CutPrefix(address, "sqlite:")
	if !ok {
		return false, nil
	}
	return dbfile.InUse(path)
}

func isPostgres(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}

// RequireSync returns an error unless s acknowledges a write only once two machines
// have it.
func RequireSync(ctx context.Context, s pets.Store) error {
	p, ok := s.(*postgres.Store)
	if !ok {
		return errors.New("--require-sync: only a postgres:// store can have a synchronous standby; leave it out")
	}
	return p.RequireSync(ctx)
}

// ReadStandbys has the standbys of a cluster serve pets and pages, exactly as its
// primary would, and returns an error where they could not. Call it before other
// calls of s.
func ReadStandbys(ctx context.Context, s pets.Store, log *slog.Logger) error {
	p, ok := s.(*postgres.Store)
	if !ok {
		return errors.New("--reads standbys: only a postgres:// store can have standbys; leave it out")
	}
	return p.ReadStandbys(ctx, log)
}

// Monitor logs the faults of a store's cluster while the store is open: an old
// primary that accepts writes and, with requireSync, the lack of a synchronous
// standby. It returns at once, and does nothing for a store without a cluster.
func Monitor(s pets.Store, log *slog.Logger, requireSync bool) {
	if p, ok := s.(*postgres.Store); ok {
		p.Monitor(log, requireSync)
	}
}

// Redact returns the address without its secrets, for logs.
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

// opened returns a nil interface beside an error. A nil pointer of a store's own
// type would make an interface that is not nil.
func opened[S pets.Store](s S, err error) (pets.Store, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

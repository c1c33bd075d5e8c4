// Package store is the contract of stores: they keep pets and API keys, and their whole
// content can be copied from one to another. Package storetest tests every
// implementation, and package address opens them.
package store

import (
	"context"
	"errors"
	"iter"
	"log/slog"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

// Store keeps pets and API keys.
type Store interface {
	pets.Store
	keys.Store

	// Fill stores a snapshot of another store in one transaction, durably: all of
	// it or, with an error, nothing. It fails with ErrNotEmpty if the store is not
	// as it was created, and if a sequence of the snapshot has an error. Internal
	// means that either all or nothing is stored. See Copy.
	Fill(ctx context.Context, s Snapshot) error
}

// Options says how to open a store. The zero value is valid.
type Options struct {
	MustExist   bool         // fail if there is no store, instead of creating one
	RequireSync bool         // fail unless a PostgreSQL server waits for a synchronous standby
	Logger      *slog.Logger // reports a new store, a migration, a long start, and damage; may be nil
}

// Reader reads a store as it is: it creates, migrates and writes nothing.
type Reader interface {
	Keys(ctx context.Context) ([]keys.Key, error)

	// Snapshot calls f with the content of the store at one moment, while others
	// may write. It fails if f does.
	Snapshot(ctx context.Context, f func(Snapshot) error) error

	Close() error
}

// Snapshot is the whole content of a store. Its sequences must be read at most once,
// one after the other in the order of the fields, and end with their first error.
type Snapshot struct {
	LastID   int64                               // the greatest identifier ever given to a pet; 0 if none was
	Pets     iter.Seq2[pets.Pet, error]          // in ascending order of their identifiers
	Requests iter.Seq2[pets.KeyedRequest, error] // in ascending order of the identifiers of their pets
	Keys     iter.Seq2[keys.Key, error]          // oldest first
}

// Errors of opening a store.
var (
	ErrNoStore  = errors.New("there is no store")
	ErrOutdated = errors.New("its schema is older than this program's")
	ErrNewer    = errors.New("its schema is newer than this program")
)

// ErrNotEmpty is the error of Fill for a store that holds or has held a pet, or holds
// an API key or an idempotency key.
var ErrNotEmpty = &pets.Error{Kind: pets.Invalid, Message: "the store is not empty; copy into a new one"}

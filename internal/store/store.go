// Package store is the contract of stores: they keep pets and API keys. Package storetest
// tests every implementation, and package address lists them.
//
// Except on PostgreSQL, idempotency keys are forgotten early if the clock is days ahead for an hour.
package store

import (
	"context"
	"log/slog"
	"time"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/pets"
)

// Store keeps pets and API keys.
type Store interface {
	pets.Store
	keys.Store
}

// Kind is a kind of stores, and what the commands must know of it.
type Kind struct {
	Name    string // such as sqlite
	Form    string // of an address, such as sqlite:PATH
	Default string // an address

	// Matches reports whether an address has the form.
	Matches func(address string) bool

	// Redact returns an address without its password. It is nil if there can be none.
	Redact func(address string) string

	// Open opens the store at an address, creating it if it does not exist, and brings
	// its schema up to date.
	Open func(ctx context.Context, address string, o db.Options) (Store, error)

	// Keys returns the API keys of the store at an address, as keys.Store does. It creates,
	// migrates and writes nothing.
	Keys func(ctx context.Context, address string) ([]keys.Key, error)

	// Migrate brings the schema of the store at an address up to date, creating the store
	// if there is none, and returns the versions before and after.
	Migrate func(ctx context.Context, address string, logger *slog.Logger) (from, to int64, err error)

	Volatile bool // the store ends with its process; there are no Keys and no Migrate
	Server   bool // it is in a server, which may wait for standbys; see db.Options.RequireSync

	// Path returns the path in an address. It is nil unless the store is a file.
	Path func(address string) string
}

const (
	keepIdempotencyKeys = 7 * 24 * time.Hour
	forgetInterval      = time.Hour
)

// Background does what no request waits for until ctx ends, which is after the last request and before s is
// closed. It deletes the idempotency keys that are older than seven days, every hour. The first pass
// waits, too: after a boot, a clock may be wrong for minutes.
func Background(ctx context.Context, s pets.Store, logger *slog.Logger) {
	for {
		select {
		case <-time.After(forgetInterval):
		case <-ctx.Done():
			return
		}
		total := 0
		n, err := s.ForgetIdempotencyKeys(ctx, keepIdempotencyKeys)
		for n > 0 && err == nil { // there may be more
			total += n
			n, err = s.ForgetIdempotencyKeys(ctx, keepIdempotencyKeys)
		}
		if total += n; total > 0 {
			logger.Info("old idempotency keys were deleted", "keys", total)
		}
		if err != nil && ctx.Err() == nil {
			logger.Warn("old idempotency keys were not deleted", "error", err)
		}
	}
}

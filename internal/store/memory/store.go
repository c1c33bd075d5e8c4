// Package memory implements store.Store in memory. Nothing survives the process.
package memory

import (
	"context"
	"sync"
	"time"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

var _ store.Store = (*Store)(nil)

// Store is a store.Store in memory.
type Store struct {
	mu       sync.Mutex
	closed   bool
	pets     []pets.Pet // in ascending order of ID
	lastID   int64      // the last one assigned
	requests map[pets.IdempotencyKey]request
	keys     []keys.Key // in order of creation
}

// request is a create request with an idempotency key.
type request struct {
	petID       int64
	fingerprint []byte
	at          time.Time
}

// New returns an empty store.
func New() *Store { return &Store{requests: map[pets.IdempotencyKey]request{}} }

func (s *Store) Ping(ctx context.Context) error { return s.locked(ctx, func() error { return nil }) }
func (s *Store) Failed() <-chan error           { return nil }

func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// locked calls f with mu locked, unless the store is closed or ctx is done.
func (s *Store) locked(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return db.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return db.Canceled(err)
	}
	return f()
}

// Kind is the kind of stores in memory.
var Kind = store.Kind{
	Name: "memory", Form: "memory:", Default: "memory:", Volatile: true,
	Matches: func(address string) bool { return address == "memory:" },
	Open:    func(context.Context, string, db.Options) (store.Store, error) { return New(), nil },
}

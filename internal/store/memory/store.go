// Package memory keeps pets and keys in memory. Nothing survives the process.
package memory

import (
	"context"
	"sync"

	"example.com/petstore/internal/pets"
)

var _ pets.Store = (*Store)(nil)

// Store is a pets.Store in memory.
type Store struct {
	mu       sync.RWMutex
	closed   bool
	pets     []pets.Pet                 // ascending by identifier; elements never change
	byStatus map[pets.Status][]pets.Pet // the same pets by status
	made     map[pets.Idempotency]pets.Pet
	keys     []pets.Key
}

// New returns an empty store.
func New() *Store {
	return &Store{byStatus: map[pets.Status][]pets.Pet{}, made: map[pets.Idempotency]pets.Pet{}}
}

// Ping implements pets.Store.
func (s *Store) Ping(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.usable(ctx)
}

// Failed implements pets.Store.
func (s *Store) Failed() <-chan error { return nil }

// Close implements pets.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// usable returns an Unavailable error if the store is closed or ctx has ended.
// The caller holds mu.
func (s *Store) usable(ctx context.Context) error {
	if s.closed {
		return pets.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return &pets.Error{Kind: pets.Unavailable, Message: "the call was given up", Err: err}
	}
	return nil
}

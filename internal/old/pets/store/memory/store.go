// Package memory keeps pets and keys in the process: nothing survives it, and
// no other process sees it. It is for tests, demonstrations and measuring.
package memory

import (
	"context"
	"sync"

	"example.com/petstore/internal/old/pets"
)

var _ pets.Store = (*Store)(nil)

// Store is a pets.Store in memory.
type Store struct {
	mu       sync.RWMutex
	closed   bool
	pets     []pets.Pet                 // in ascending order of their identifiers
	byStatus map[pets.Status][]pets.Pet // the same, once more
	made     map[pets.Idempotency]int   // where in pets
	keys     []pets.Key                 // in the order of storing
}

// New returns an empty store.
func New() *Store {
	return &Store{byStatus: map[pets.Status][]pets.Pet{}, made: map[pets.Idempotency]int{}}
}

// readable returns why the store cannot be used now, or nil. The caller holds mu.
func (s *Store) readable(ctx context.Context) error {
	if s.closed {
		return pets.ErrClosed
	}
	if ctx.Err() != nil {
		return pets.ErrGaveUp
	}
	return nil
}

// Ping implements pets.Store.
func (s *Store) Ping(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.readable(ctx)
}

// Failed implements pets.Store: memory does not fail.
func (s *Store) Failed() <-chan error { return nil }

// Close implements pets.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

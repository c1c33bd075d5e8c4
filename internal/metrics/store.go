package metrics

import (
	"context"
	"time"

	"example.com/petstore/internal/petstore"
)

// The calls, as their label has them.
const (
	callCreate = "create"
	callGet    = "get"
	callList   = "list"
	callKey    = "key"
)

// Store returns s with its calls timed, as far as requests make them.
func (m *Metrics) Store(s petstore.Store) petstore.Store { return &timedStore{s, m} }

type timedStore struct {
	petstore.Store
	metrics *Metrics
}

// failure returns the kind of an error that is the store's own fault, or "".
func failure(err error) string {
	if err == nil {
		return ""
	}
	switch kind := petstore.KindOf(err); kind {
	case petstore.Unavailable, petstore.Internal:
		return kind.String()
	}
	return ""
}

// CreatePet implements petstore.Store, as do the others.
func (s *timedStore) CreatePet(ctx context.Context, p petstore.NewPet) (petstore.Pet, error) {
	start := time.Now()
	pet, err := s.Store.CreatePet(ctx, p)
	s.metrics.observeCall(callCreate, start, failure(err))
	return pet, err
}

// Pet see CreatePet.
func (s *timedStore) Pet(ctx context.Context, id int64) (petstore.Pet, error) {
	start := time.Now()
	pet, err := s.Store.Pet(ctx, id)
	s.metrics.observeCall(callGet, start, failure(err))
	return pet, err
}

// Pets see CreatePet.
func (s *timedStore) Pets(ctx context.Context, q petstore.Query) (petstore.Page, error) {
	start := time.Now()
	page, err := s.Store.Pets(ctx, q)
	s.metrics.observeCall(callList, start, failure(err))
	return page, err
}

// Key see CreatePet.
func (s *timedStore) Key(ctx context.Context, id string) (petstore.Key, error) {
	start := time.Now()
	key, err := s.Store.Key(ctx, id)
	s.metrics.observeCall(callKey, start, failure(err))
	return key, err
}

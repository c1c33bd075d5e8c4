package metrics

import (
	"context"
	"time"

	"example.com/petstore/internal/pets"
)

// The calls, as their label has them.
const (
	callCreate = "create"
	callGet    = "get"
	callList   = "list"
	callKey    = "key"
)

// Store returns s with its calls timed, as far as requests make them.
func (m *Metrics) Store(s pets.Store) pets.Store { return &timedStore{s, m} }

type timedStore struct {
	pets.Store
	metrics *Metrics
}

// failure returns the kind of an error that is the store's own fault, or "".
func failure(err error) string {
	if err == nil {
		return ""
	}
	switch kind := pets.KindOf(err); kind {
	case pets.Unavailable, pets.Internal:
		return kind.String()
	}
	return ""
}

// CreatePet implements pets.Store, as do the others.
func (s *timedStore) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	start := time.Now()
	pet, err := s.Store.CreatePet(ctx, p)
	s.metrics.observeCall(callCreate, start, failure(err))
	return pet, err
}

// Pet see CreatePet.
func (s *timedStore) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	start := time.Now()
	pet, err := s.Store.Pet(ctx, id)
	s.metrics.observeCall(callGet, start, failure(err))
	return pet, err
}

// Pets see CreatePet.
func (s *timedStore) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	start := time.Now()
	page, err := s.Store.Pets(ctx, q)
	s.metrics.observeCall(callList, start, failure(err))
	return page, err
}

// Key see CreatePet.
func (s *timedStore) Key(ctx context.Context, id string) (pets.Key, error) {
	start := time.Now()
	key, err := s.Store.Key(ctx, id)
	s.metrics.observeCall(callKey, start, failure(err))
	return key, err
}

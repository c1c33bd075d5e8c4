package memory

import (
	"context"
	"slices"
	"time"

	"example.com/petstore/internal/pets"
)

// CreateKey implements pets.KeyStore.
func (s *Store) CreateKey(ctx context.Context, k pets.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	if s.key(k.ID) != nil {
		return &pets.Error{Kind: pets.Internal, Message: "there is a key with this id already"}
	}
	s.keys = append(s.keys, k)
	slices.SortStableFunc(s.keys, func(a, b pets.Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return nil
}

// key returns the key with the given ID, or nil. The caller holds mu.
func (s *Store) key(id string) *pets.Key {
	i := slices.IndexFunc(s.keys, func(k pets.Key) bool { return k.ID == id })
	if i < 0 {
		return nil
	}
	return &s.keys[i]
}

// Key implements pets.KeyStore.
func (s *Store) Key(ctx context.Context, id string) (pets.Key, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return pets.Key{}, err
	}
	if k := s.key(id); k != nil {
		return *k, nil
	}
	return pets.Key{}, pets.NoSuchKey(id)
}

// Keys implements pets.KeyStore.
func (s *Store) Keys(ctx context.Context) ([]pets.Key, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return nil, err
	}
	return slices.Clone(s.keys), nil
}

// RevokeKey implements pets.KeyStore.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (pets.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return pets.Key{}, err
	}
	k := s.key(id)
	if k == nil {
		return pets.Key{}, pets.NoSuchKey(id)
	}
	if k.RevokedAt.IsZero() {
		k.RevokedAt = at.UTC().Truncate(time.Second)
	}
	return *k, nil
}

// RecordKeyUse implements pets.KeyStore.
func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return err
	}
	for id, at := range used {
		at = at.UTC().Truncate(time.Second)
		if k := s.key(id); k != nil && at.After(k.UsedAt) {
			k.UsedAt = at
		}
	}
	return nil
}

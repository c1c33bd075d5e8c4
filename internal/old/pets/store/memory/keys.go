package memory

import (
	"context"
	"slices"
	"time"

	"example.com/petstore/internal/old/pets"
)

// CreateKey implements pets.KeyStore.
func (s *Store) CreateKey(ctx context.Context, k pets.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return err
	}
	if s.indexOfKey(k.ID) >= 0 {
		return &pets.Error{Kind: pets.Internal, Message: "there is a key with id " + k.ID + " already"}
	}
	s.keys = append(s.keys, k)
	return nil
}

// Key implements pets.KeyStore.
func (s *Store) Key(ctx context.Context, id string) (pets.Key, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.readable(ctx); err != nil {
		return pets.Key{}, err
	}
	i := s.indexOfKey(id)
	if i < 0 {
		return pets.Key{}, pets.NoSuchKey(id)
	}
	return s.keys[i], nil
}

// Keys implements pets.KeyStore.
func (s *Store) Keys(ctx context.Context) ([]pets.Key, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	keys := slices.Clone(s.keys)
	slices.SortStableFunc(keys, func(a, b pets.Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return keys, nil
}

// RevokeKey implements pets.KeyStore.
func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (pets.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return pets.Key{}, err
	}
	i := s.indexOfKey(id)
	if i < 0 {
		return pets.Key{}, pets.NoSuchKey(id)
	}
	if s.keys[i].RevokedAt.IsZero() {
		s.keys[i].RevokedAt = at.UTC().Truncate(time.Second)
	}
	return s.keys[i], nil
}

// RotateKey implements pets.KeyStore.
func (s *Store) RotateKey(ctx context.Context, id string, successor pets.Key, end time.Time) (pets.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return pets.Key{}, err
	}
	i := s.indexOfKey(id)
	if i < 0 || s.keys[i].State(successor.CreatedAt) != pets.KeyActive {
		return pets.Key{}, pets.NoSuchKey(id)
	}
	if s.indexOfKey(successor.ID) >= 0 {
		return pets.Key{}, &pets.Error{Kind: pets.Internal, Message: "there is a key with id " + successor.ID + " already"}
	}
	end = end.UTC().Truncate(time.Second)
	if old := s.keys[i].ExpiresAt; old.IsZero() || end.Before(old) {
		s.keys[i].ExpiresAt = end
	}
	s.keys = append(s.keys, successor)
	return s.keys[i], nil
}

// RecordKeyUse implements pets.KeyStore.
func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return err
	}
	for id, at := range used {
		at = at.UTC().Truncate(time.Second)
		if i := s.indexOfKey(id); i >= 0 && s.keys[i].UsedLater(at) {
			s.keys[i].UsedAt = at
		}
	}
	return nil
}

func (s *Store) indexOfKey(id string) int {
	return slices.IndexFunc(s.keys, func(k pets.Key) bool { return k.ID == id })
}

package memory

import (
	"context"
	"slices"
	"time"

	"example.com/petstore/internal/pets"
)

func (s *Store) CreateKey(ctx context.Context, k pets.Key) error {
	return s.locked(ctx, func() error {
		if _, taken := s.keys[k.ID]; taken {
			return &pets.Error{Kind: pets.Internal, Message: "a key with this ID already exists"}
		}
		s.keys[k.ID] = k
		s.keyIDs = append(s.keyIDs, k.ID)
		return nil
	})
}

func (s *Store) Key(ctx context.Context, id string) (k pets.Key, err error) {
	err = s.locked(ctx, func() error {
		k, err = s.key(id)
		return err
	})
	return k, err
}

// key returns the key with the given ID. The caller must hold mu.
func (s *Store) key(id string) (pets.Key, error) {
	k, found := s.keys[id]
	if !found {
		return pets.Key{}, pets.NoSuchKey(id)
	}
	return k, nil
}

func (s *Store) Keys(ctx context.Context) (keys []pets.Key, err error) {
	err = s.locked(ctx, func() error {
		for _, id := range s.keyIDs {
			keys = append(keys, s.keys[id])
		}
		slices.SortStableFunc(keys, func(a, b pets.Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
		return nil
	})
	return keys, err
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k pets.Key, err error) {
	err = s.locked(ctx, func() error {
		if k, err = s.key(id); err == nil && k.RevokedAt.IsZero() {
			k.RevokedAt = at.UTC().Truncate(time.Second)
			s.keys[id] = k
		}
		return err
	})
	return k, err
}

func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	return s.locked(ctx, func() error {
		for id, at := range used {
			at = at.UTC().Truncate(time.Second)
			if k, found := s.keys[id]; found && at.After(k.UsedAt) {
				k.UsedAt = at
				s.keys[id] = k
			}
		}
		return nil
	})
}

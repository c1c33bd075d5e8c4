package memory

import (
	"context"
	"slices"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

func (s *Store) CreateKey(ctx context.Context, k keys.Key) error {
	return s.locked(ctx, func() error {
		if _, taken := s.keys[k.ID]; taken {
			return &pets.Error{Kind: pets.Internal, Message: "a key with this ID already exists"}
		}
		s.keys[k.ID] = k
		s.keyIDs = append(s.keyIDs, k.ID)
		return nil
	})
}

func (s *Store) Key(ctx context.Context, id string) (k keys.Key, err error) {
	err = s.locked(ctx, func() error {
		k, err = s.key(id)
		return err
	})
	return k, err
}

// key returns the key with the given ID. The caller must hold mu.
func (s *Store) key(id string) (keys.Key, error) {
	k, found := s.keys[id]
	if !found {
		return keys.Key{}, keys.ErrNotFound
	}
	return k, nil
}

func (s *Store) Keys(ctx context.Context) (all []keys.Key, err error) {
	err = s.locked(ctx, func() error {
		for _, id := range s.keyIDs {
			all = append(all, s.keys[id])
		}
		slices.SortStableFunc(all, func(a, b keys.Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
		return nil
	})
	return all, err
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k keys.Key, err error) {
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

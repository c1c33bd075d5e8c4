package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
)

func (s *Store) CreateKey(ctx context.Context, k keys.Key) error {
	return s.locked(ctx, func() error {
		if slices.ContainsFunc(s.keys, func(old keys.Key) bool { return old.ID == k.ID }) {
			return fault.Wrap(fault.Internal, errors.New("a key with this ID already exists"))
		}
		s.keys = append(s.keys, k)
		return nil
	})
}

// withKey calls f with the key that has the given ID.
func (s *Store) withKey(ctx context.Context, id string, f func(k *keys.Key)) error {
	return s.locked(ctx, func() error {
		i := slices.IndexFunc(s.keys, func(k keys.Key) bool { return k.ID == id })
		if i < 0 {
			return keys.ErrNotFound
		}
		f(&s.keys[i])
		return nil
	})
}

func (s *Store) Key(ctx context.Context, id string) (k keys.Key, err error) {
	err = s.withKey(ctx, id, func(found *keys.Key) { k = *found })
	return k, err
}

func (s *Store) Keys(ctx context.Context) (all []keys.Key, err error) {
	err = s.locked(ctx, func() error {
		all = slices.Clone(s.keys)
		slices.SortStableFunc(all, func(a, b keys.Key) int { return a.CreatedAt.Compare(b.CreatedAt) })
		return nil
	})
	return all, err
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time) (k keys.Key, err error) {
	err = s.withKey(ctx, id, func(found *keys.Key) {
		if found.RevokedAt.IsZero() {
			found.RevokedAt = at.UTC().Truncate(time.Second)
		}
		k = *found
	})
	return k, err
}

func (s *Store) RecordKeyUse(ctx context.Context, used map[string]time.Time) error {
	return s.locked(ctx, func() error {
		for i := range s.keys {
			k := &s.keys[i]
			if at := used[k.ID].UTC().Truncate(time.Second); at.After(k.UsedAt) {
				k.UsedAt = at
			}
		}
		return nil
	})
}

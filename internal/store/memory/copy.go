package memory

import (
	"context"
	"iter"
	"slices"

	"example.com/petstore/internal/store"
)

func (s *Store) Snapshot(ctx context.Context, f func(store.Snapshot) error) error {
	var snapshot store.Snapshot
	err := s.locked(ctx, func() error {
		snapshot = store.Snapshot{
			LastID:   s.lastID,
			Pets:     sequence(s.pets),
			Requests: sequence(s.requests),
			Keys:     sequence(s.keys),
		}
		return nil
	})
	if err != nil {
		return err
	}
	return f(snapshot)
}

// sequence yields the elements that all has now.
func sequence[T any](all []T) iter.Seq2[T, error] {
	all = slices.Clone(all)
	return func(yield func(T, error) bool) {
		for _, v := range all {
			if !yield(v, nil) {
				return
			}
		}
	}
}

func (s *Store) Fill(ctx context.Context, from store.Snapshot) error {
	filled := New()
	filled.lastID = from.LastID
	for p, err := range from.ValidPets() {
		if err != nil {
			return err
		}
		filled.pets = append(filled.pets, p)
	}
	for r, err := range from.Requests {
		if err != nil {
			return err
		}
		filled.remember(r)
	}
	for k, err := range from.Keys {
		if err != nil {
			return err
		}
		filled.keys = append(filled.keys, k)
	}
	return s.locked(ctx, func() error {
		if s.lastID > 0 || len(s.requests) > 0 || len(s.keys) > 0 {
			return store.ErrNotEmpty
		}
		s.lastID, s.pets, s.requests, s.byKey, s.keys = filled.lastID, filled.pets, filled.requests, filled.byKey, filled.keys
		return nil
	})
}

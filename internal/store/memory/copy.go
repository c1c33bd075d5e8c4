package memory

import (
	"context"

	"example.com/petstore/internal/store"
)

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
		filled.requests[r.IdempotencyKey] = r
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
		s.lastID, s.pets, s.requests, s.keys = filled.lastID, filled.pets, filled.requests, filled.keys
		return nil
	})
}

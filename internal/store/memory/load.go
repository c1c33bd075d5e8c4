package memory

import (
	"context"
	"iter"

	"example.com/petstore/internal/petstore"
)

// Load implements petstore.PetStore.
func (s *Store) Load(ctx context.Context, pets iter.Seq2[petstore.NewPet, error]) (int, error) {
	all, err := s.readAll(ctx, petstore.Loading(pets))
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return 0, err
	}
	if petstore.MaxID-s.lastID() < int64(len(all)) {
		return 0, errNoID
	}
	for _, p := range all {
		p.ID = s.lastID() + 1
		s.add(p)
	}
	return len(all), nil
}

// Restore implements petstore.PetStore.
func (s *Store) Restore(ctx context.Context, pets iter.Seq2[petstore.Pet, error]) (int, error) {
	all, err := s.readAll(ctx, petstore.Restoring(pets))
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return 0, err
	}
	if len(s.pets) > 0 {
		return 0, petstore.ErrNotEmpty
	}
	for _, p := range all {
		s.add(p)
	}
	return len(all), nil
}

// readAll reads all of pets before the store is locked: no caller waits for their
// source.
func (s *Store) readAll(ctx context.Context, pets iter.Seq2[petstore.Pet, error]) (all []petstore.Pet, err error) {
	if err := s.Ping(ctx); err != nil {
		return nil, err
	}
	for p, err := range pets {
		if err == nil && ctx.Err() != nil {
			err = petstore.ErrGaveUp
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

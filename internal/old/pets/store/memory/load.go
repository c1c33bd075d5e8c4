package memory

import (
	"context"
	"iter"

	"example.com/petstore/internal/old/pets"
)

// Load implements pets.PetStore.
func (s *Store) Load(ctx context.Context, animals iter.Seq2[pets.NewPet, error]) (int, error) {
	all, err := s.readAll(ctx, pets.Loading(animals))
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return 0, err
	}
	if pets.MaxID-s.lastID() < int64(len(all)) {
		return 0, errNoID
	}
	for _, p := range all {
		p.ID = s.lastID() + 1
		s.add(p)
	}
	return len(all), nil
}

// LoadWithIDs implements pets.PetStore.
func (s *Store) LoadWithIDs(ctx context.Context, animals iter.Seq2[pets.Pet, error]) (int, error) {
	all, err := s.readAll(ctx, pets.LoadingWithIDs(animals))
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return 0, err
	}
	if len(s.pets) > 0 {
		return 0, pets.ErrNotEmpty
	}
	for _, p := range all {
		s.add(p)
	}
	return len(all), nil
}

// readAll reads all of pets before the store is locked: no caller waits for their
// source.
func (s *Store) readAll(ctx context.Context, animals iter.Seq2[pets.Pet, error]) (all []pets.Pet, err error) {
	if err := s.Ping(ctx); err != nil {
		return nil, err
	}
	for p, err := range animals {
		if err == nil && ctx.Err() != nil {
			err = pets.ErrGaveUp
		}
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

package memory

import (
	"context"
	"iter"

	"example.com/petstore/internal/pets"
)

func (s *Store) Load(ctx context.Context, seq iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Validated(seq), func(all []pets.Pet) error {
		id, err := s.nextIDs(len(all))
		for i := range all {
			all[i].ID = id + int64(i)
		}
		return err
	})
}

func (s *Store) LoadWithIDs(ctx context.Context, seq iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.ValidatedWithIDs(seq), func([]pets.Pet) error {
		if len(s.pets) > 0 {
			return pets.ErrNotEmpty
		}
		return nil
	})
}

// load reads all of seq, then locks mu, calls prepare and stores the pets. It
// does not hold mu while it reads.
func (s *Store) load(ctx context.Context, seq iter.Seq2[pets.Pet, error], prepare func([]pets.Pet) error) (int, error) {
	var all []pets.Pet
	for p, err := range seq {
		if err == nil {
			err = s.Ping(ctx)
		}
		if err != nil {
			return 0, err
		}
		all = append(all, p)
	}
	err := s.locked(ctx, func() error {
		if err := prepare(all); err != nil {
			return err
		}
		for _, p := range all {
			s.add(p)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(all), nil
}

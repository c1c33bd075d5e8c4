package sqlite

import (
	"cmp"
	"context"
	"iter"

	"example.com/petstore/internal/pets"
)

// anyPet also looks in sqlite_sequence, where SQLite keeps the largest ID ever
// assigned.
const anyPet = "SELECT EXISTS (SELECT 1 FROM pets) OR EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'pets' AND seq > 0)"

// Load implements pets.Store. Other writers wait until it is done.
func (s *Store) Load(ctx context.Context, all iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Validated(all), false)
}

func (s *Store) LoadWithIDs(ctx context.Context, all iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.ValidatedWithIDs(all), true)
}

// load stores all pets in one transaction.
func (s *Store) load(ctx context.Context, all iter.Seq2[pets.Pet, error], mustBeEmpty bool) (n int, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return 0, pets.ErrClosed
	}
	var refused error // an error from all, not from the database
	err = s.writer.writeAlone(ctx, func(tx *tx) error {
		var held bool
		if err := tx.QueryRow(anyPet).Scan(&held); err != nil {
			return err
		}
		if held && mustBeEmpty {
			return pets.ErrNotEmpty
		}
		for p, err := range all {
			if err == nil && ctx.Err() != nil {
				err = gaveUp(ctx.Err())
			}
			if refused = err; err != nil {
				return err
			}
			if _, err := tx.create(p.WithoutID(), p.ID); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err = cmp.Or(refused, err); err != nil {
		return 0, err
	}
	return n, nil
}

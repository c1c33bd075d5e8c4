package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/petstore/internal/pets"
)

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pet pets.Pet, err error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	err = s.locked(ctx, func() error {
		if made, found := s.made[p.Idempotency]; found {
			if err := p.CheckRepeat(made.WithoutID().Fingerprint()); err != nil {
				return err
			}
			pet = made
			return nil
		}
		id, err := s.nextIDs(1)
		if err != nil {
			return err
		}
		pet = p.WithID(id)
		s.add(pet)
		if !p.Idempotency.IsZero() {
			s.made[p.Idempotency] = pet
		}
		return nil
	})
	return pet, err
}

// nextIDs returns the first of n new identifiers. The caller must hold mu.
func (s *Store) nextIDs(n int) (int64, error) {
	if pets.MaxID-s.lastID < int64(n) {
		return 0, &pets.Error{Kind: pets.Internal, Message: "no identifiers are left"}
	}
	return s.lastID + 1, nil
}

// add stores a pet with a new identifier. The caller must hold mu.
func (s *Store) add(p pets.Pet) {
	s.lastID = p.ID
	s.pets = append(s.pets, p)
	s.byStatus[p.Status] = append(s.byStatus[p.Status], p)
}

func compareID(p pets.Pet, id int64) int { return cmp.Compare(p.ID, id) }

func (s *Store) Pet(ctx context.Context, id int64) (pet pets.Pet, err error) {
	err = s.locked(ctx, func() error {
		i, found := slices.BinarySearchFunc(s.pets, id, compareID)
		if !found {
			return pets.NoSuchPet(id)
		}
		pet = s.pets[i]
		return nil
	})
	return pet, err
}

func (s *Store) Pets(ctx context.Context, q pets.Query) (page pets.Page, err error) {
	err = s.locked(ctx, func() error {
		all := s.pets
		if q.Status != "" {
			all = s.byStatus[q.Status]
		}
		i, found := slices.BinarySearchFunc(all, q.After, compareID)
		if found {
			i++
		}
		n := min(q.Limit, len(all)-i)
		page = pets.Page{Pets: slices.Clone(all[i : i+n]), More: i+n < len(all)}
		return nil
	})
	return page, err
}

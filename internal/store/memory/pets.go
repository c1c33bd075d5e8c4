package memory

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"example.com/petstore/internal/pets"
)

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pet pets.Pet, err error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	err = s.locked(ctx, func() error {
		if first, found := s.requests[p.Idempotency]; found {
			if err := p.CheckRepeat(first.fingerprint); err != nil {
				return err
			}
			i, found := s.find(first.petID)
			if !found {
				return pets.ErrRemoved
			}
			pet = s.pets[i]
			return nil
		}
		id, err := s.nextIDs(1)
		if err != nil {
			return err
		}
		pet = p.WithID(id)
		s.add(pet)
		if !p.Idempotency.IsZero() {
			s.requests[p.Idempotency] = request{p.Fingerprint(), id}
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
}

// find returns the index in s.pets of the first pet whose identifier is at least
// id, and whether it is id. The caller must hold mu.
func (s *Store) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(s.pets, id, func(p pets.Pet, id int64) int { return cmp.Compare(p.ID, id) })
}

func (s *Store) Pet(ctx context.Context, id int64) (pet pets.Pet, err error) {
	err = s.locked(ctx, func() error {
		i, found := s.find(id)
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
		i, found := s.find(q.After)
		if found {
			i++
		}
		for _, p := range s.pets[i:] {
			if q.Status != "" && p.Status != q.Status {
				continue
			}
			if len(page.Pets) == q.Limit {
				page.More = true
				break
			}
			page.Pets = append(page.Pets, p)
		}
		return nil
	})
	return page, err
}

func (s *Store) Load(ctx context.Context, all iter.Seq2[pets.NewPet, error]) (int, error) {
	return s.load(ctx, pets.Validated(all), false)
}

func (s *Store) LoadWithIDs(ctx context.Context, all iter.Seq2[pets.Pet, error]) (int, error) {
	return s.load(ctx, pets.ValidatedWithIDs(all), true)
}

// load stores the pets of seq. It does not hold mu while it reads them.
func (s *Store) load(ctx context.Context, seq iter.Seq2[pets.Pet, error], withIDs bool) (int, error) {
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
		if withIDs && len(s.pets) > 0 {
			return pets.ErrNotEmpty
		}
		id, err := s.nextIDs(len(all))
		if err != nil {
			return err
		}
		for i, p := range all {
			if !withIDs {
				p.ID = id + int64(i)
			}
			s.add(p)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(all), nil
}

package memory

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"example.com/petstore/engine/fault"
	"example.com/petstore/internal/pets"
)

func (s *Store) CreatePet(ctx context.Context, p pets.NewPet, key pets.IdempotencyKey) (pet pets.Pet, err error) {
	err = s.locked(ctx, func() error {
		if first, found := s.requests[key]; found {
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
		if s.lastID == pets.MaxID {
			return fault.Wrap(fault.Internal, errors.New("no identifiers are left"))
		}
		s.lastID++
		pet = pets.Pet{ID: s.lastID, NewPet: p}
		s.pets = append(s.pets, pet)
		if !key.IsZero() {
			s.requests[key] = request{pet.ID, p.Fingerprint(), time.Now()}
		}
		return nil
	})
	return pet, err
}

func (s *Store) ForgetIdempotencyKeys(ctx context.Context, age time.Duration) (n int, err error) {
	err = s.locked(ctx, func() error {
		n = len(s.requests)
		maps.DeleteFunc(s.requests, func(_ pets.IdempotencyKey, r request) bool { return time.Since(r.at) > age })
		n -= len(s.requests)
		return nil
	})
	return n, err
}

// find returns the index of the pet in s.pets, or where it would be, and whether it is there.
// The caller must hold mu.
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

func (s *Store) Pets(ctx context.Context, q pets.ListQuery) (page pets.ListPage, err error) {
	err = s.locked(ctx, func() error {
		i, found := s.find(q.After)
		if found {
			i++
		}
		for _, p := range s.pets[i:] {
			if (q.Status == "" || p.Status == q.Status) && !page.Add(p, q.Limit) {
				break
			}
		}
		return nil
	})
	return page, err
}

package memory

import (
	"cmp"
	"context"
	"slices"

	"example.com/petstore/internal/pets"
)

// CreatePet implements pets.PetStore.
func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return pets.Pet{}, err
	}
	if made, found := s.made[p.Idempotency]; found {
		return p.Repeats(made)
	}
	id, err := s.nextIDs(1)
	if err != nil {
		return pets.Pet{}, err
	}
	pet := p.WithID(id)
	s.add(pet)
	if !p.Idempotency.IsZero() {
		s.made[p.Idempotency] = pet
	}
	return pet, nil
}

// nextIDs returns the first of n new identifiers. The caller holds mu.
func (s *Store) nextIDs(n int) (int64, error) {
	var last int64
	if len(s.pets) > 0 {
		last = s.pets[len(s.pets)-1].ID
	}
	if pets.MaxID-last < int64(n) {
		return 0, &pets.Error{Kind: pets.Internal, Message: "there are no identifiers left"}
	}
	return last + 1, nil
}

// add stores a pet with a new identifier. The caller holds mu.
func (s *Store) add(p pets.Pet) {
	s.pets = append(s.pets, p)
	s.byStatus[p.Status] = append(s.byStatus[p.Status], p)
}

func compareID(p pets.Pet, id int64) int { return cmp.Compare(p.ID, id) }

// Pet implements pets.PetStore.
func (s *Store) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return pets.Pet{}, err
	}
	i, found := slices.BinarySearchFunc(s.pets, id, compareID)
	if !found {
		return pets.Pet{}, pets.NoSuchPet(id)
	}
	return s.pets[i], nil
}

// Pets implements pets.PetStore.
func (s *Store) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.usable(ctx); err != nil {
		return pets.Page{}, err
	}
	all := s.pets
	if q.Status != "" {
		all = s.byStatus[q.Status]
	}
	i, found := slices.BinarySearchFunc(all, q.After, compareID)
	if found {
		i++
	}
	rest := all[i:]
	n := min(q.Limit, len(rest))
	return pets.Page{Pets: slices.Clone(rest[:n]), More: n < len(rest)}, nil
}

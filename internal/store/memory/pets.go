package memory

import (
	"context"
	"sort"

	"example.com/petstore/internal/petstore"
)

// CreatePet implements petstore.PetStore.
func (s *Store) CreatePet(ctx context.Context, p petstore.NewPet) (petstore.Pet, error) {
	if err := p.Validate(); err != nil {
		return petstore.Pet{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return petstore.Pet{}, err
	}
	if id, ok := s.made[p.Idempotency]; ok {
		return p.Repeats(s.pets[id-1])
	}
	pet := p.WithID(int64(len(s.pets)) + 1)
	s.pets = append(s.pets, pet)
	s.byStatus[pet.Status] = append(s.byStatus[pet.Status], pet)
	if !p.Idempotency.IsZero() {
		s.made[p.Idempotency] = pet.ID
	}
	return pet, nil
}

// Pet implements petstore.PetStore.
func (s *Store) Pet(ctx context.Context, id int64) (petstore.Pet, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.readable(ctx); err != nil {
		return petstore.Pet{}, err
	}
	if id < 1 || id > int64(len(s.pets)) {
		return petstore.Pet{}, petstore.NoSuchPet(id)
	}
	return s.pets[id-1], nil
}

// Pets implements petstore.PetStore.
func (s *Store) Pets(ctx context.Context, q petstore.Query) (petstore.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.readable(ctx); err != nil {
		return petstore.Page{}, err
	}
	// What is stored never changes, so pages are parts of the lists themselves.
	rest := s.pets[min(max(q.After, 0), int64(len(s.pets))):]
	if q.Status != "" {
		pets := s.byStatus[q.Status]
		rest = pets[sort.Search(len(pets), func(i int) bool { return pets[i].ID > q.After }):]
	}
	n := min(q.Limit, len(rest))
	return petstore.Page{Pets: rest[:n:n], More: n < len(rest)}, nil
}

package memory

import (
	"context"
	"sort"

	"example.com/petstore/internal/old/pets"
)

// CreatePet implements pets.PetStore.
func (s *Store) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	if err := p.Validate(); err != nil {
		return pets.Pet{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.readable(ctx); err != nil {
		return pets.Pet{}, err
	}
	if i, ok := s.made[p.Idempotency]; ok {
		return p.Repeats(s.pets[i])
	}
	if s.lastID() == pets.MaxID {
		return pets.Pet{}, errNoID
	}
	pet := p.WithID(s.lastID() + 1)
	if !p.Idempotency.IsZero() {
		s.made[p.Idempotency] = len(s.pets)
	}
	s.add(pet)
	return pet, nil
}

var errNoID = &pets.Error{Kind: pets.Internal, Message: "there is no identifier left"}

// add adds a pet whose identifier is greater than all others. The callers of add
// and lastID hold mu.
func (s *Store) add(p pets.Pet) {
	s.pets = append(s.pets, p)
	s.byStatus[p.Status] = append(s.byStatus[p.Status], p)
}

func (s *Store) lastID() int64 {
	if len(s.pets) == 0 {
		return 0
	}
	return s.pets[len(s.pets)-1].ID
}

// upTo returns how many of animals have id or a smaller identifier. Without gaps they
// are id. Only pets loaded with identifiers, and the pets of a status, have gaps.
func upTo(animals []pets.Pet, id int64) int {
	if n := min(max(id, 0), int64(len(animals))); n == 0 || animals[n-1].ID == n {
		return int(n)
	}
	return sort.Search(len(animals), func(i int) bool { return animals[i].ID > id })
}

// Pet implements pets.PetStore.
func (s *Store) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.readable(ctx); err != nil {
		return pets.Pet{}, err
	}
	n := upTo(s.pets, id)
	if n == 0 || s.pets[n-1].ID != id {
		return pets.Pet{}, pets.NoSuchPet(id)
	}
	return s.pets[n-1], nil
}

// Final implements pets.PetStore: nothing changes a pet, and a new one follows all
// others.
func (s *Store) Final() bool { return true }

// Pets implements pets.PetStore.
func (s *Store) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.readable(ctx); err != nil {
		return pets.Page{}, err
	}
	// A stored pet never changes, so pages are parts of the lists themselves.
	animals := s.pets
	if q.Status != "" {
		animals = s.byStatus[q.Status]
	}
	rest := animals[upTo(animals, q.After):]
	n := min(q.Limit, len(rest))
	return pets.Page{Pets: rest[:n:n], More: n < len(rest)}, nil
}

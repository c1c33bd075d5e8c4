package memory

import (
	"slices"

	"example.com/petstore/internal/pets"
)

// Change changes a stored pet, for tests.
func (s *Store) Change(p pets.Pet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := s.find(p.ID)
	s.pets[i] = p
}

// Remove removes a stored pet, for tests.
func (s *Store) Remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := s.find(id)
	s.pets = slices.Delete(s.pets, i, i+1)
}

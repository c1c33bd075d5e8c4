package memory

import "example.com/petstore/internal/pets"

// Change changes a stored pet, for tests.
func (s *Store) Change(p pets.Pet) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, _ := s.find(p.ID)
	s.pets[i] = p
}

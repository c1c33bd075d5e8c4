package memory

import (
	"slices"

	"example.com/petstore/internal/pets"
)

// Remove removes a pet, for tests.
func (s *Store) Remove(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := func(p pets.Pet) bool { return p.ID == id }
	s.pets = slices.DeleteFunc(s.pets, gone)
	for status, all := range s.byStatus {
		s.byStatus[status] = slices.DeleteFunc(all, gone)
	}
}

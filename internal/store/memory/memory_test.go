package memory

import (
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Open: func(testing.TB) store.Store { return New() },
		Change: func(_ testing.TB, st store.Store, p pets.Pet) {
			s := st.(*Store)
			i, _ := s.find(p.ID)
			s.pets[i] = p
		},
		Remove: func(_ testing.TB, st store.Store, id int64) {
			s := st.(*Store)
			i, _ := s.find(id)
			s.pets = slices.Delete(s.pets, i, i+1)
		},
		Last: func(_ testing.TB, st store.Store, id int64) { st.(*Store).lastID = id },
		Age: func(_ testing.TB, st store.Store, key pets.IdempotencyKey, by time.Duration) {
			s := st.(*Store)
			r := s.requests[key]
			r.at = r.at.Add(-by)
			s.requests[key] = r
		},
	})
}

package memory

import (
	"slices"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/storetest"
)

func TestStore(t *testing.T) {
	timer := time.AfterFunc(10*time.Second, func() { panic("TestStore hangs") })
	t.Cleanup(func() { timer.Stop() })
	storetest.Run(t, storetest.Factory{
		Kind: Kind, Address: func(testing.TB) string { return "memory:" },
		Change: func(_ testing.TB, opened storetest.Opened, p pets.Pet) {
			s := opened.Store.(*Store)
			i, _ := s.find(p.ID)
			s.pets[i] = p
		},
		Remove: func(_ testing.TB, opened storetest.Opened, id int64) {
			s := opened.Store.(*Store)
			i, _ := s.find(id)
			s.pets = slices.Delete(s.pets, i, i+1)
		},
		Last: func(_ testing.TB, opened storetest.Opened, id int64) { opened.Store.(*Store).lastID = id },
		Age: func(_ testing.TB, opened storetest.Opened, key pets.IdempotencyKey, by time.Duration) {
			s := opened.Store.(*Store)
			r := s.requests[key]
			r.at = r.at.Add(-by)
			s.requests[key] = r
		},
	})
}

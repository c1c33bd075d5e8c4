package memory_test

import (
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Open:   func(testing.TB) store.Store { return memory.New() },
		Change: func(_ testing.TB, s store.Store, p pets.Pet) { s.(*memory.Store).Change(p) },
		Remove: func(_ testing.TB, s store.Store, id int64) { s.(*memory.Store).Remove(id) },
	})
}

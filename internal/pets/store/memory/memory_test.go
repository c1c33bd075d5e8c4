package memory_test

import (
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/pets/store/storetest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) pets.Store {
		s := memory.New()
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

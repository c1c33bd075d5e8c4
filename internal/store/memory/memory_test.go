package memory_test

import (
	"testing"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/memory"
	"example.com/petstore/internal/store/storetest"
)

func TestMemoryKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) petstore.Store {
		s := memory.New()
		t.Cleanup(func() { _ = s.Close() })
		return s
	})
}

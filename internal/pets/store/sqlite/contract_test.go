package sqlite_test

import (
	"path/filepath"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
	"example.com/petstore/internal/pets/store/storetest"
)

func TestSQLiteKeepsTheContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) pets.Store { return open(t, freshPath(t)) })
}

// freshPath returns where no file is yet.
func freshPath(t *testing.T) string { return filepath.Join(t.TempDir(), "pets.db") }

func TestTwoStoresOnOneFileAreLinearizable(t *testing.T) {
	path := freshPath(t)
	storetest.Linearizable(t, open(t, path), open(t, path))
}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("opening %s: got error %v, want a store", path, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing %s: got error %v, want nil", path, err)
		}
	})
	return s
}

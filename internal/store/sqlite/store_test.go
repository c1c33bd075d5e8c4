package sqlite_test

import (
	"path/filepath"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/store/storetest"
)

func open(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("Open(%q): got error %v", path, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// stored is a store that knows its path.
type stored struct {
	*sqlite.Store
	path string
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Open: func(t testing.TB) pets.Store {
			path := filepath.Join(t.TempDir(), "pets.db")
			return stored{open(t, path), path}
		},
		Reopen: func(t testing.TB, s pets.Store) pets.Store {
			if err := s.Close(); err != nil {
				t.Errorf("Close: got error %v", err)
			}
			path := s.(stored).path
			return stored{open(t, path), path}
		},
	})
}

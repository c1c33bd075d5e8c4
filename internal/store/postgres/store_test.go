//go:build postgres

package postgres_test

import (
	"os"
	"sync"
	"testing"

	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
	"example.com/petstore/internal/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// open opens a store and closes it when the test ends.
func open(t testing.TB, address string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address, postgres.Options{})
	if err != nil {
		t.Fatalf("Open(%s): got error %v", address, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, factory(pgtest.Schema))
}

// factory opens stores at the addresses that database returns.
func factory(database func(testing.TB) string) storetest.Factory {
	var addresses sync.Map
	start := func(t testing.TB, address string) store.Store {
		s := open(t, address)
		addresses.Store(s, address)
		return s
	}
	return storetest.Factory{
		Open: func(t testing.TB) store.Store { return start(t, database(t)) },
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Errorf("Close: got error %v", err)
			}
			address, _ := addresses.Load(s)
			return start(t, address.(string))
		},
	}
}

//go:build postgres

package postgres_test

import (
	"os"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/postgres"
	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/pets/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestPostgreSQLKeepsTheContract(t *testing.T) {
	keepsTheContract(t, pgtest.NewDatabasePool(t, ""), func(address string) string { return address })
}

// keepsTheContract tests stores on the databases of the pool. Each is opened by
// the address that route makes of the database's own.
func keepsTheContract(t *testing.T, databases *pgtest.DatabasePool, route func(string) string) {
	storetest.Run(t, func(t *testing.T) pets.Store {
		address, release := databases.Take(t)
		return pooled{open(t, route(address)), release}
	})
}

// pooled is a store that releases its database when it is closed.
type pooled struct {
	*postgres.Store
	release func()
}

func (s pooled) Close() error {
	defer s.release()
	return s.Store.Close()
}

func TestTwoReplicasAreLinearizable(t *testing.T) {
	address := pgtest.Database(t)
	storetest.Linearizable(t, open(t, address), open(t, address))
}

func open(t testing.TB, address string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatalf("opening %s: got error %v, want a store", address, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing %s: got error %v, want nil", address, err)
		}
	})
	return s
}

//go:build postgres

package postgres_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/pets"
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

// newPet returns a pet that the store accepts.
func newPet() pets.NewPet { return pets.NewPet{Name: "Rex", Status: pets.Sold} }

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
		Change: func(t testing.TB, s store.Store, p pets.Pet) {
			address, _ := addresses.Load(s)
			pgtest.Exec(t, address.(string), fmt.Sprintf("UPDATE pets SET name = '%s', category_id = %d, status = '%s' WHERE id = %d", p.Name, p.CategoryID, p.Status, p.ID))
		},
		Remove: func(t testing.TB, s store.Store, id int64) {
			address, _ := addresses.Load(s)
			pgtest.Exec(t, address.(string), fmt.Sprintf("DELETE FROM pets WHERE id = %d", id))
		},
	}
}

// figure returns a metric of s.
func figure(t *testing.T, s *postgres.Store, name string) float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(s)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	primary, _ := pgtest.Pair(t)
	for required, want := range map[bool]float64{false: 0, true: 1} {
		s, err := postgres.Open(t.Context(), primary.Address("postgres"), postgres.Options{RequireSync: required})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := figure(t, s, "postgres_sync_required"); got != want {
			t.Errorf("postgres_sync_required with RequireSync %v: got %v, want %v", required, got, want)
		}
		if n := figure(t, s, "postgres_connections"); n != 1 {
			t.Errorf("postgres_connections: got %v, want 1", n)
		}
		if n := figure(t, s, "postgres_connections_in_use"); n != 0 {
			t.Errorf("postgres_connections_in_use: got %v, want 0", n)
		}
	}
}

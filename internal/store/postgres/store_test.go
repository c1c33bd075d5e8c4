//go:build postgres

package postgres_test

import (
	"fmt"
	"os"
	"testing"
	"time"

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

// opened is a store with its address.
type opened struct {
	store.Store
	address string
}

// factory opens stores at the addresses that database returns.
func factory(database func(testing.TB) string) storetest.Factory {
	start := func(t testing.TB, address string) store.Store { return opened{open(t, address), address} }
	return storetest.Factory{
		Open: func(t testing.TB) store.Store { return start(t, database(t)) },
		Reopen: func(t testing.TB, s store.Store) store.Store {
			if err := s.Close(); err != nil {
				t.Errorf("Close: got error %v", err)
			}
			return start(t, s.(opened).address)
		},
		Change: func(t testing.TB, s store.Store, p pets.Pet) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("UPDATE pets SET name = '%s', category_id = %d, status = '%s' WHERE id = %d", p.Name, p.CategoryID, p.Status, p.ID))
		},
		Remove: func(t testing.TB, s store.Store, id int64) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("DELETE FROM pets WHERE id = %d", id))
		},
	}
}

// TestLoadStalls loads pets that arrive more slowly than any request may last.
func TestLoadStalls(t *testing.T) {
	t.Parallel()
	n, err := open(t, pgtest.Schema(t)).Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
		_ = yield(newPet(), nil)
		time.Sleep(11 * time.Second)
		_ = yield(newPet(), nil)
	})
	if n != 2 || err != nil {
		t.Errorf("Load: got %d pets, error %v, want 2", n, err)
	}
}

// TestRestoreEmptied checks that no identifier is given again after a restore into a
// table that was emptied.
func TestRestoreEmptied(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	s := open(t, address)
	var last pets.Pet
	for range 2 {
		p, err := s.CreatePet(t.Context(), newPet())
		if err != nil || p.ID <= last.ID {
			t.Fatalf("CreatePet: got %v, error %v, want an id greater than %d", p, err, last.ID)
		}
		last = p
		pgtest.Exec(t, address, "DELETE FROM pets")
		if _, err := s.LoadWithIDs(t.Context(), func(yield func(pets.Pet, error) bool) { yield(newPet().WithID(1), nil) }); err != nil {
			t.Fatalf("LoadWithIDs: got error %v", err)
		}
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

//go:build postgres

package postgres_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/keys"
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
		Reader: func(t testing.TB, s store.Store) store.Reader {
			r, err := postgres.OpenReader(t.Context(), s.(opened).address)
			if err != nil {
				t.Fatal(err)
			}
			return r
		},
		Change: func(t testing.TB, s store.Store, p pets.Pet) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("UPDATE pets SET name = '%s', category_id = %d, status = '%s' WHERE id = %d", p.Name, p.CategoryID, p.Status, p.ID))
		},
		Remove: func(t testing.TB, s store.Store, id int64) {
			pgtest.Exec(t, s.(opened).address, fmt.Sprintf("DELETE FROM pets WHERE id = %d", id))
		},
	}
}

// TestFillStalls fills a store with pets that arrive more slowly than any request may last,
// and than the server allows.
func TestFillStalls(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.Schema(t)+"&statement_timeout=5000&idle_in_transaction_session_timeout=10")
	err := s.Fill(t.Context(), store.Snapshot{
		LastID: 2,
		Pets: func(yield func(pets.Pet, error) bool) {
			for id := range int64(2) {
				time.Sleep(6 * time.Second)
				if !yield(pets.Pet{ID: id + 1, NewPet: newPet()}, nil) {
					return
				}
			}
		},
		Requests: func(func(pets.KeyedRequest, error) bool) {},
		Keys:     func(func(keys.Key, error) bool) {},
	})
	if page, listErr := s.Pets(t.Context(), pets.Query{Limit: 10}); err != nil || listErr != nil || len(page.Pets) != 2 {
		t.Errorf("Fill: got %v, errors %v and %v, want 2 pets", page.Pets, err, listErr)
	}
}

// figures returns the metrics of s by their names.
func figures(t *testing.T, s *postgres.Store) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(s)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		all[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return all
}

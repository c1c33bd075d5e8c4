//go:build postgres

package postgres_test

import (
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// TestLoadStalls loads pets that arrive slowly, while new connections lead to
// another address of the server.
func TestLoadStalls(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	link := newProxy(t, server.Host())
	s := open(t, pgtest.Address("postgres", link.host(), server.Host()))
	n, err := s.Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
		if !yield(newPet(), nil) {
			return
		}
		_ = link.listener.Close()
		time.Sleep(11 * time.Second) // longer than any request may take
		yield(newPet(), nil)
	})
	if n != 2 || err != nil {
		t.Errorf("Load: got %d pets, error %v, want 2", n, err)
	}
}

// TestRemovedID checks that the identifier of a removed pet is not given again,
// also after a restore into the emptied table.
func TestRemovedID(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	s := open(t, address)
	last := int64(0)
	create := func(s *postgres.Store) {
		t.Helper()
		p, err := s.CreatePet(t.Context(), newPet())
		if err != nil || p.ID <= last {
			t.Fatalf("CreatePet: got %v, error %v, want an id greater than %d", p, err, last)
		}
		last = p.ID
	}
	remove := func() { pgtest.Exec(t, address, "DELETE FROM pets", "VACUUM pets") }
	create(s)
	create(s)
	remove()
	create(s)
	remove()
	create(open(t, address))
	remove()
	n, err := s.LoadWithIDs(t.Context(), func(yield func(pets.Pet, error) bool) { yield(newPet().WithID(1), nil) })
	if n != 1 || err != nil {
		t.Fatalf("LoadWithIDs: got %d pets, error %v, want 1", n, err)
	}
	create(s)
}

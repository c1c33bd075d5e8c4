//go:build postgres

package postgres_test

import (
	"testing"
	"time"

	"example.com/petstore/internal/pets"
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

// TestRestoreEmptied checks that no identifier is given again after a restore into a
// table that was emptied.
func TestRestoreEmptied(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
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

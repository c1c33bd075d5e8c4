package sqlite

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/petstore/internal/pets"
)

// limitPages lets the database grow by so many pages and no further: SQLite
// then says of it what it says of a full disk.
func limitPages(t *testing.T, s *Store, more int) {
	t.Helper()
	err := s.committer.write(context.Background(), func(w *writer) error {
		var pages, limit int
		if err := w.conn.QueryRowContext(context.Background(), "PRAGMA page_count").Scan(&pages); err != nil {
			return err
		}
		if err := w.conn.QueryRowContext(context.Background(), fmt.Sprintf("PRAGMA max_page_count = %d", pages+more)).Scan(&limit); err != nil {
			return err
		}
		if limit != pages+more {
			return fmt.Errorf("SQLite took a limit of %d pages, want %d", limit, pages+more)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("limiting the database: got error %v", err)
	}
}

func wantFull(t *testing.T, err error) {
	t.Helper()
	if pets.KindOf(err) != pets.Unavailable || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("creating on a full disk: got error %v (%v), want unavailable, the disk is full", err, pets.KindOf(err))
	}
}

func TestAFullDiskIsUnavailableUntilThereIsSpace(t *testing.T) {
	s, path := mustOpen(t)
	var acknowledged []pets.Pet
	long := newPet(strings.Repeat("🐘", 1000))
	fill := func() (err error) {
		for range 1000 {
			var pet pets.Pet
			if pet, err = s.CreatePet(t.Context(), long); err != nil {
				return err
			}
			acknowledged = append(acknowledged, pet)
		}
		return nil
	}
	for range 3 {
		limitPages(t, s, 20)
		before := len(acknowledged)
		wantFull(t, fill())
		if len(acknowledged) == before {
			t.Error("got nothing created although there was space, want something")
		}
		for range 3 {
			wantFull(t, fill())
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("ping on a full disk: got error %v, want nil", err)
		}
		if !s.Stats(t.Context()).DiskFull {
			t.Error("stats on a full disk: got disk not full, want full")
		}
		for _, pet := range acknowledged {
			if got, err := s.Pet(t.Context(), pet.ID); err != nil || got != pet {
				t.Errorf("pet %d on a full disk: got error %v, want it as it was", pet.ID, err)
			}
		}
	}
	select {
	case err := <-s.Failed():
		t.Errorf("got failure %v, want none: a full disk passes", err)
	default:
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing: got error %v", err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("reopening: got error %v", err)
	}
	defer s.Close()
	for _, want := range acknowledged {
		if got, err := s.Pet(t.Context(), want.ID); err != nil || got != want {
			t.Errorf("acknowledged pet %d: got error %v, want it as it was", want.ID, err)
		}
	}
	if got := countPets(t, s); got != len(acknowledged) {
		t.Errorf("got %d pets, want %d", got, len(acknowledged))
	}
}

func TestADiskThatFillsUpDuringABatchUndoesAllOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		limitPages(t, s, 3)
		release := occupy(s)
		small := createInTheBackground(t.Context(), s, 5)
		synctest.Wait()
		big := &outcome{}
		go func() { big.pet, big.err = s.CreatePet(context.Background(), newPet(strings.Repeat("x", 60<<10))) }()
		synctest.Wait()
		release()
		settle()
		for _, o := range append(small, big) {
			wantFull(t, o.err)
		}
		if n := countPets(t, s); n != 0 {
			t.Errorf("got %d pets, want 0: their callers were told that nothing was done", n)
		}
		small = createInTheBackground(t.Context(), s, 5)
		settle()
		wantCreated(t, s, small)
		if s.Stats(t.Context()).DiskFull {
			t.Error("stats once there is space: got disk full, want not")
		}
	})
}

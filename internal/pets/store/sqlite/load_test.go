package sqlite

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/petstore/internal/pets"
)

// loadOf yields so many pets and then the error.
func loadOf(n int, name string, last error) func(func(pets.NewPet, error) bool) {
	return func(yield func(pets.NewPet, error) bool) {
		for range n {
			if !yield(newPet(name), nil) {
				return
			}
		}
		if last != nil {
			yield(pets.NewPet{}, last)
		}
	}
}

func TestALoadThatFailsUndoesNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		release := occupy(s)
		before := createInTheBackground(t.Context(), s, 5)
		broken := errors.New("the file broke off")
		ended := make(chan error, 1)
		go func() {
			_, err := s.Load(t.Context(), loadOf(500, "loaded", broken))
			ended <- err
		}()
		synctest.Wait()
		release()
		after := createInTheBackground(t.Context(), s, 5)
		synctest.Wait()
		if err := <-ended; err != broken {
			t.Errorf("got error %v, want %v", err, broken)
		}
		settle()
		wantCreated(t, s, append(before, after...))
		if n := countPets(t, s); n != 10 {
			t.Errorf("got %d pets, want the 10 created", n)
		}
	})
}

func TestADiskThatFillsUpDuringALoadUndoesAllOfIt(t *testing.T) {
	s, _ := mustOpen(t)
	limitPages(t, s, 20)
	_, err := s.Load(t.Context(), loadOf(1000, strings.Repeat("🐘", 1000), nil))
	wantFull(t, err)
	if n := countPets(t, s); n != 0 {
		t.Errorf("got %d pets, want none", n)
	}
	if n, err := s.Load(t.Context(), loadOf(3, "small", nil)); n != 3 || err != nil {
		t.Errorf("a small load: got %d pets, error %v, want 3", n, err)
	}
}

// An error that pets yields may come from another database: it says nothing of
// this one.
func TestAnErrorOfTheCallersOwnIsNotTheDatabases(t *testing.T) {
	other, _ := mustOpen(t)
	_, foreign := other.readers.db.ExecContext(t.Context(), "DELETE FROM pets")
	if foreign == nil {
		t.Fatal("writing by a reader: got no error, want one of SQLite's")
	}
	s, _ := mustOpen(t)
	if _, err := s.Load(t.Context(), loadOf(3, "a", foreign)); err != foreign {
		t.Errorf("got error %v, want %v", err, foreign)
	}
}

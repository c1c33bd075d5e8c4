package sqlite

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// holdWriteLock keeps the write lock, as an import of another process does, until the
// function that it returns is called.
func holdWriteLock(t *testing.T, path string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", dbfile.Address(path, dbfile.WriterPragmas))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil) // immediate, by the address
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Errorf("releasing the lock: got error %v", err)
		}
	}
}

func TestACreateWaitsForAnImportOfAnotherProcessUpToItsDeadline(t *testing.T) {
	t.Parallel()
	s, path := mustOpen(t)
	release := holdWriteLock(t, path)
	began := time.Now()
	hurried, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := s.CreatePet(hurried, newPet("hurried")); pets.KindOf(err) != pets.Unavailable {
		t.Errorf("past its deadline: got error %v, want unavailable", err)
	}
	patient := make(chan error, 1)
	go func() {
		_, err := s.CreatePet(t.Context(), newPet("patient"))
		patient <- err
	}()
	if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
		t.Errorf("reading meanwhile: got error %v, want a page", err)
	}
	for time.Since(began) < (dbfile.BusyTimeout+500)*time.Millisecond { // longer than SQLite itself waits
		select {
		case err := <-patient:
			t.Fatalf("while the lock is held: got told %v, want it waiting", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	release()
	if err := <-patient; err != nil {
		t.Errorf("once the lock is free: got error %v, want a pet", err)
	}
	if n := countPets(t, s); n != 1 {
		t.Errorf("got %d pets, want 1", n)
	}
}

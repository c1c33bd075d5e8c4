package sqlite

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/pets"
)

func mustOpen(t *testing.T) (s *Store, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pets.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("opening: got error %v, want a store", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: got error %v, want nil", err)
		}
	})
	return s, path
}

func newPet(name string) pets.NewPet {
	return pets.NewPet{Name: name, CategoryID: 1, Status: pets.Available}
}

// countPets returns how many pets there are, by a statement of its own.
func countPets(t *testing.T, s *Store) (n int) {
	t.Helper()
	if err := s.readers.db.QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(&n); err != nil {
		t.Fatalf("counting pets: got error %v", err)
	}
	return n
}

// transactions counts those in the log that were committed, from the log
// itself: the last frame of each carries the size of the database, the others
// zero (https://www.sqlite.org/fileformat2.html#walformat). It is exact until
// the log is begun anew, after some 1000 pages.
func transactions(t *testing.T, path string) (n int) {
	t.Helper()
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatalf("reading the log: got error %v", err)
	}
	const header, frameHeader = 32, 24
	if len(log) < header {
		return 0
	}
	salt := log[16:24]
	pageSize := int(binary.BigEndian.Uint32(log[8:12]))
	for at := header; at+frameHeader+pageSize <= len(log); at += frameHeader + pageSize {
		frame := log[at : at+frameHeader]
		if string(frame[8:16]) == string(salt) && binary.BigEndian.Uint32(frame[4:8]) != 0 {
			n++
		}
	}
	return n
}

// outcome is the result of a call of CreatePet.
type outcome struct {
	pet  pets.Pet
	err  error
	told bool
}

// createInTheBackground has n callers create a pet each. The outcomes may be
// read once the callers are known to wait or to have ended.
func createInTheBackground(ctx context.Context, s *Store, n int) []*outcome {
	outcomes := make([]*outcome, n)
	for i := range outcomes {
		o := &outcome{}
		outcomes[i] = o
		go func() {
			o.pet, o.err = s.CreatePet(ctx, newPet(strconv.Itoa(i)))
			o.told = true
		}()
	}
	return outcomes
}

func wantCreated(t *testing.T, s *Store, outcomes []*outcome) {
	t.Helper()
	for i, o := range outcomes {
		if !o.told || o.err != nil {
			t.Errorf("caller %d: got told %v, error %v, want a pet", i, o.told, o.err)
			continue
		}
		if got, err := s.Pet(context.Background(), o.pet.ID); err != nil || got != o.pet {
			t.Errorf("pet %d: got %v (error %v), want %v", o.pet.ID, got, err, o.pet)
		}
	}
}

// settle waits until every caller waits for the committer, and the committer for
// the test: it no longer pauses for callers who may return.
func settle() {
	time.Sleep(2 * longestPause)
	synctest.Wait()
}

// occupy gives the committer a job that lasts until release is called, and
// returns once the job runs. Every job that is given to it meanwhile waits, and
// shares the next transaction.
func occupy(s *Store) (release func()) {
	running, over := make(chan struct{}), make(chan struct{})
	go func() {
		_ = s.committer.write(context.Background(), func(*writer) error {
			close(running)
			<-over
			return nil
		})
	}()
	<-running
	return func() { close(over) }
}

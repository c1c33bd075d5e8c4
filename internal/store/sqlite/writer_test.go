package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/storetest"
)

// inBubble calls f with an open store in a synctest bubble: synctest.Wait returns when
// every caller is waiting for the writer, and the writer for the test.
func inBubble(t *testing.T, f func(t *testing.T, s *Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := open(t, newPath(t))
		defer mustClose(t, s)
		f(t, s)
	})
}

// call is a CreatePet call in the background.
type call struct {
	pet pets.Pet
	err error
}

// create makes n calls, which need not have ended when it returns.
func create(t *testing.T, s *Store, n int, name string) []*call {
	calls := make([]*call, n)
	for i := range calls {
		calls[i] = &call{}
		go func() { calls[i].pet, calls[i].err = s.CreatePet(t.Context(), newPet(name), pets.IdempotencyKey{}) }()
	}
	synctest.Wait()
	return calls
}

// settle waits until the writer is idle.
func settle() {
	time.Sleep(time.Second) // the bubble's time
	synctest.Wait()
}

// SQLite ignores a setting that it does not know.
func TestSettings(t *testing.T) {
	s := open(t, newPath(t))
	for db, settings := range map[*sql.DB][]string{
		s.writer:     {"busy_timeout=5000", "synchronous=2", "journal_size_limit=16777216", "wal_autocheckpoint=0", "journal_mode=wal"},
		s.readers[0]: {"busy_timeout=5000", "query_only=1"},
	} {
		for _, setting := range settings {
			name, want, _ := strings.Cut(setting, "=")
			var got string
			if err := db.QueryRow("PRAGMA " + name).Scan(&got); err != nil || got != want {
				t.Errorf("%s: got %s, error %v, want %s", name, got, err, want)
			}
		}
	}
}

// Every page of one status reads its index, also with statistics, with which SQLite may
// prefer the order of identifiers.
func TestPlan(t *testing.T) {
	s := open(t, newPath(t))
	storetest.Fill(t, s, 300, newPet("Rex"))
	if _, err := s.writer.Exec("ANALYZE"); err != nil {
		t.Fatal(err)
	}
	for _, after := range []int{0, 290} {
		var plan string
		err := s.writer.QueryRow("EXPLAIN QUERY PLAN "+selectPetsByStatus, string(example.Pet().Status), after, 21).Scan(new(int), new(int), new(int), &plan)
		if want := "SEARCH pets USING INDEX pets_by_status (status=? AND id>?)"; err != nil || plan != want {
			t.Errorf("after %d: got %q, error %v, want %q", after, plan, err, want)
		}
	}
}

// Callers that write again as soon as they have an answer share commits.
func TestCallersComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				time.Sleep(time.Duration(i%2) * returnTime / 2) // two halves
				for range 50 {
					if _, err := s.CreatePet(t.Context(), example.Pet(), pets.IdempotencyKey{}); err != nil {
						t.Error(err)
					}
					time.Sleep(returnTime / 2)
				}
			})
		}
		wg.Wait()
		if commits := s.commits.Load(); commits > 1600/20 {
			t.Errorf("got %d commits of 1600 writes, want at least 20 in each", commits)
		}
	})
}

// A write that is refused, fails or makes the commit fail does so alone.
func TestJobFails(t *testing.T) {
	for what, c := range map[string]struct {
		run     func(tx *sql.Tx) error
		commits uint64 // of it and ten others that wait for one
	}{
		"refusal":     {func(*sql.Tx) error { return keys.ErrNotFound }, 2},
		"statement":   {func(tx *sql.Tx) error { _, err := tx.Exec("INSERT INTO keys (id) VALUES ('x')"); return err }, 11},
		"transaction": {func(tx *sql.Tx) error { return tx.Rollback() }, 11}, // the commit, if it is alone
	} {
		inBubble(t, func(t *testing.T, s *Store) {
			resume := make(chan struct{})
			go func() { _ = s.write(context.Background(), func(*sql.Tx) error { <-resume; return nil }) }()
			synctest.Wait()
			calls := create(t, s, 5, "before")
			var failed error
			go func() { failed = s.write(context.Background(), c.run) }()
			synctest.Wait()
			calls = append(calls, create(t, s, 5, "after")...)
			close(resume)
			settle()
			if failed == nil || fault.IsCallers(failed) != (what == "refusal") {
				t.Errorf("%s: got error %v", what, failed)
			}
			stored := walk(t, s)
			for i, c := range calls {
				if c.err != nil || !reflect.DeepEqual(stored[c.pet.ID], c.pet) {
					t.Errorf("%s: call %d: got %v (stored as %v), error %v", what, i, c.pet, stored[c.pet.ID], c.err)
				}
			}
			if got := s.commits.Load(); got != c.commits || len(stored) != len(calls) {
				t.Errorf("%s: got %d commits of %d pets, want %d of %d", what, got, len(stored), c.commits, len(calls))
			}
		})
	}
}

// A call ends with its context while the queue is full or all readers are in use.
func TestContextEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		resume := make(chan struct{})
		go func() { _ = s.write(context.Background(), func(*sql.Tx) error { <-resume; return nil }) }()
		synctest.Wait()
		create(t, s, maxBatch, "Rex")
		var used []statements
		for range s.readers {
			used = append(used, <-s.idle)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the bubble's
		defer cancel()
		_, writeErr := s.CreatePet(ctx, newPet("late"), pets.IdempotencyKey{})
		_, readErr := s.Pet(ctx, 1)
		for _, err := range []error{writeErr, readErr} {
			if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got error %v, want unavailable, because the context has ended", err)
			}
		}
		for _, selects := range used {
			s.idle <- selects
		}
		close(resume)
	})
}

// TestFull limits the number of pages, after which SQLite reports a full disk.
func TestFull(t *testing.T) {
	s, created, refused := open(t, newPath(t)), ledger{}, 0
	for _, pages := range []int{30, 1000} {
		if err := s.writer.QueryRow(fmt.Sprint("PRAGMA max_page_count = ", pages)).Scan(new(int)); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			p, err := s.CreatePet(t.Context(), newPet(strings.Repeat("🐘", 1500)), pets.IdempotencyKey{})
			if err == nil {
				created[p.ID] = p
			} else if refused++; pages > 30 || fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%d pages: got error %v, want unavailable, and only if they are few", pages, err)
			}
			if full := figure(t, s, "sqlite_disk_full") == 1; full != (err != nil) {
				t.Errorf("sqlite_disk_full: got %v after error %v", full, err)
			}
		}
	}
	if stored := walk(t, s); !reflect.DeepEqual(stored, created) || refused == 0 || len(created) < 41 {
		t.Errorf("got %d pets, %d created and %d refused", len(stored), len(created), refused)
	}
}

// The log restarts when its pages are in the file, unless a reader is using it.
func TestLogLength(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		fill := func(what string, least, most int64) {
			for range 50 {
				create(t, s, 50, strings.Repeat("x", 5000))
				settle()
			}
			if info, err := os.Stat(s.file + logSuffix); err != nil || info.Size() < least || info.Size() > most {
				t.Errorf("%s: got the log %v, error %v, want %d to %d bytes", what, info, err, least, most)
			}
		}
		fill("no reader", 0, 6<<20)
		reading, err := s.readers[0].Begin()
		if err == nil {
			err = reading.QueryRow("SELECT count(*) FROM pets").Scan(new(int))
		}
		if err != nil {
			t.Fatal(err)
		}
		fill("a reader", 12<<20, 1<<40)
		_ = reading.Rollback()
		fill("after it", 0, 16<<20)
	})
}

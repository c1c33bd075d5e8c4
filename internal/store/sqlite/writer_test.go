package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

// These tests run in synctest bubbles: synctest.Wait returns when every caller
// is waiting for the writer, and the writer for the test.

// inBubble calls f in a bubble, with an open store.
func inBubble(t *testing.T, f func(t *testing.T, s *Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "pets.db"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: got error %v", err)
			}
		}()
		f(t, s)
	})
}

// call is a CreatePet call in the background.
type call struct {
	pet  pets.Pet
	err  error
	done bool
}

func newPet(name string) pets.NewPet { return pets.NewPet{Name: name, Status: pets.Sold} }

func create(ctx context.Context, s *Store, n int, name string) []*call {
	calls := make([]*call, n)
	for i := range calls {
		calls[i] = &call{}
		go func() {
			calls[i].pet, calls[i].err = s.CreatePet(ctx, newPet(name))
			calls[i].done = true
		}()
	}
	synctest.Wait()
	return calls
}

// settle waits until the writer is idle.
func settle() {
	time.Sleep(time.Second) // the bubble's time
	synctest.Wait()
}

// wantCreated checks that the store holds exactly the pets of calls.
func wantCreated(t *testing.T, s *Store, calls []*call) {
	t.Helper()
	seen := map[int64]bool{}
	for i, c := range calls {
		if got, err := s.Pet(t.Context(), c.pet.ID); !c.done || c.err != nil || err != nil || !reflect.DeepEqual(got, c.pet) || seen[got.ID] {
			t.Errorf("call %d: got %v (stored as %v, %v), error %v, done %v, want a pet", i, c.pet, got, err, c.err, c.done)
		}
		seen[c.pet.ID] = true
	}
	if page, err := s.Pets(t.Context(), pets.Query{Limit: 10000}); err != nil || len(page.Pets) != len(calls) {
		t.Errorf("got %d pets, error %v, want %d", len(page.Pets), err, len(calls))
	}
}

func wantUnavailable(t *testing.T, calls []*call) {
	t.Helper()
	for i, c := range calls {
		if !c.done || pets.KindOf(c.err) != pets.Unavailable {
			t.Errorf("call %d: got %v, error %v, done %v, want unavailable", i, c.pet, c.err, c.done)
		}
	}
}

func TestBatch(t *testing.T) {
	for _, c := range []struct {
		waiting int
		commits uint64
	}{{1, 1}, {100, 1}, {maxBatch, 1}, {maxBatch + 1, 2}, {3 * maxBatch, 3}} {
		inBubble(t, func(t *testing.T, s *Store) {
			s.writer.turn <- struct{}{}
			calls := create(t.Context(), s, c.waiting, "Rex")
			<-s.writer.turn
			settle()
			wantCreated(t, s, calls)
			if commits, writes := s.writer.commits.Load(), s.writer.writes.Load(); commits != c.commits || writes != uint64(c.waiting) {
				t.Errorf("%d calls: got %d commits of %d writes, want %d", c.waiting, commits, writes, c.commits)
			}
		})
	}
}

// SQLite ignores a setting that it does not know.
func TestSettings(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		for db, settings := range map[*sql.DB][]string{
			s.writer.db: {"busy_timeout=5000", "synchronous=2", "journal_size_limit=16777216", "wal_autocheckpoint=0", "journal_mode=wal"},
			s.readers:   {"busy_timeout=5000", "query_only=1"},
		} {
			for _, setting := range settings {
				name, want, _ := strings.Cut(setting, "=")
				var got string
				if err := db.QueryRow("PRAGMA " + name).Scan(&got); err != nil || got != want {
					t.Errorf("%s: got %s, error %v, want %s", name, got, err, want)
				}
			}
		}
	})
}

// Callers that write again as soon as they have an answer share commits.
func TestCallersComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				time.Sleep(time.Duration(i%2) * returnTime / 2) // two halves
				for range 50 {
					if _, err := s.CreatePet(t.Context(), newPet("Rex")); err != nil {
						t.Error(err)
					}
					time.Sleep(returnTime / 2)
				}
			})
		}
		wg.Wait()
		if commits, writes := s.writer.commits.Load(), s.writer.writes.Load(); writes != 1600 || commits > 1600/20 {
			t.Errorf("got %d writes in %d commits, want 1600, at least 20 in each", writes, commits)
		}
	})
}

func TestCallerLeaves(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		s.writer.turn <- struct{}{}
		ctx, leave := context.WithCancel(t.Context())
		leaving := create(ctx, s, 2*maxBatch, "leaving") // more than the channel holds
		leave()
		synctest.Wait()
		wantUnavailable(t, leaving)
		staying := create(t.Context(), s, 5, "staying")
		<-s.writer.turn
		settle()
		wantCreated(t, s, staying)

		// Once a write has begun, the caller gets its outcome, after the commit.
		ctx, leave = context.WithCancel(t.Context())
		running := make(chan struct{})
		s.writer.turn <- struct{}{}
		late := create(ctx, s, 3, "late")
		go func() { _ = s.write(context.Background(), func(*tx) error { <-running; return nil }) }()
		synctest.Wait()
		<-s.writer.turn
		settle()
		leave()
		synctest.Wait()
		for i, c := range late {
			if c.done {
				t.Errorf("call %d: got %v, error %v before the commit, want it waiting", i, c.pet, c.err)
			}
		}
		close(running)
		settle()
		wantCreated(t, s, append(staying, late...))
	})
}

// A refusal is decided in the transaction of its neighbours, which keep it.
func TestRefusal(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		s.writer.turn <- struct{}{}
		calls := create(t.Context(), s, 2, "before")
		var refused error
		go func() { _, refused = s.RevokeKey(t.Context(), "none", time.Now()) }()
		synctest.Wait()
		calls = append(calls, create(t.Context(), s, 2, "after")...)
		<-s.writer.turn
		settle()
		if !errors.Is(refused, keys.ErrNotFound) {
			t.Errorf("got error %v, want not found", refused)
		}
		wantCreated(t, s, calls)
		if got := s.writer.commits.Load(); got != 1 {
			t.Errorf("got %d commits, want 1", got)
		}
	})
}

// A job that fails, or makes the commit fail, fails alone.
func TestJobFails(t *testing.T) {
	for what, fail := range map[string]func(tx *tx) error{
		"statement":   func(tx *tx) error { _, err := tx.Exec("INSERT INTO keys (id) VALUES ('x')"); return err },
		"transaction": func(tx *tx) error { return tx.Rollback() }, // the commit, if it is alone
	} {
		inBubble(t, func(t *testing.T, s *Store) {
			s.writer.turn <- struct{}{}
			calls := create(t.Context(), s, 5, "before")
			var failed error
			go func() { failed = s.write(context.Background(), fail) }()
			synctest.Wait()
			calls = append(calls, create(t.Context(), s, 5, "after")...)
			<-s.writer.turn
			settle()
			if failed == nil || pets.KindOf(failed) != pets.Internal {
				t.Errorf("%s: got error %v, want internal", what, failed)
			}
			wantCreated(t, s, calls)
		})
	}
}

// limitPages lets the database grow by at most more pages. After that, SQLite
// reports a full disk.
func limitPages(t *testing.T, s *Store, more int) {
	t.Helper()
	var pages int
	if err := s.writer.db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	if err := s.writer.db.QueryRow(fmt.Sprintf("PRAGMA max_page_count = %d", pages+more)).Scan(&pages); err != nil {
		t.Fatal(err)
	}
}

func TestFull(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		limitPages(t, s, 20)
		var created []*call
		for range 20 {
			calls := create(t.Context(), s, 1, strings.Repeat("🐘", 1500))
			settle()
			if calls[0].err == nil {
				created = append(created, calls...)
				continue
			}
			wantUnavailable(t, calls)
			if !s.health.diskFull.Load() {
				t.Error("diskFull: got false, want true")
			}
		}
		if n := len(created); n == 0 || n == 20 {
			t.Errorf("got %d of 20 created, want some", n)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("Ping: got error %v", err)
		}
		limitPages(t, s, 1000)
		created = append(created, create(t.Context(), s, 5, "Rex")...)
		settle()
		wantCreated(t, s, created)
		if s.health.diskFull.Load() {
			t.Error("diskFull: got true, want false")
		}
	})
}

// The log restarts when its pages are in the file, unless a reader is using it.
func TestLogLength(t *testing.T) {
	inBubble(t, func(t *testing.T, s *Store) {
		const limit = 6 << 20
		fill := func() int64 {
			for range 50 {
				create(t.Context(), s, 50, strings.Repeat("x", 5000))
				settle()
			}
			info, err := os.Stat(s.file + logSuffix)
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
		if got := fill(); got > limit {
			t.Errorf("log: got %d bytes, want at most %d", got, limit)
		}
		reading, err := s.readers.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := reading.Exec("SELECT count(*) FROM pets"); err != nil {
			t.Fatal(err)
		}
		if got := fill(); got < 2*limit {
			t.Errorf("log: got %d bytes while a reader needs it, want more than %d", got, 2*limit)
		}
		if err := reading.Rollback(); err != nil {
			t.Fatal(err)
		}
		if got, limit := fill(), int64(16<<20); got > limit {
			t.Errorf("log: got %d bytes after the reader, want at most %d", got, limit)
		}
	})
}

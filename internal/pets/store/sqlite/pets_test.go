package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"example.com/petstore/internal/pets"
)

// byHandOn runs queries on the writer's connection.
func byHandOn(t *testing.T, s *Store, queries ...string) {
	t.Helper()
	err := s.committer.write(context.Background(), func(w *writer) error {
		for _, query := range queries {
			if _, err := w.conn.ExecContext(context.Background(), query); err != nil {
				return fmt.Errorf("%s: %w", query, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("got error %v", err)
	}
}

func TestAnIdentifierIsNeverUsedAgain(t *testing.T) {
	s, path := mustOpen(t)
	var last pets.Pet
	create := func() {
		t.Helper()
		pet, err := s.CreatePet(t.Context(), newPet("Rex"))
		if err != nil {
			t.Fatalf("creating: got error %v", err)
		}
		if pet.ID <= last.ID {
			t.Errorf("got id %d after %d, want a greater one", pet.ID, last.ID)
		}
		last = pet
	}
	create()
	create()
	byHandOn(t, s, fmt.Sprintf("DELETE FROM pets WHERE id = %d", last.ID))
	create()
	byHandOn(t, s, "DELETE FROM pets")
	create()
	byHandOn(t, s, "DELETE FROM pets")
	if err := s.Close(); err != nil {
		t.Fatalf("closing: got error %v", err)
	}
	var err error
	if s, err = Open(t.Context(), path, Options{}); err != nil {
		t.Fatalf("reopening: got error %v", err)
	}
	defer s.Close()
	create()
}

func TestIdentifiersEndWhereJavaScriptLosesThem(t *testing.T) {
	s, _ := mustOpen(t)
	if _, err := s.CreatePet(t.Context(), newPet("first")); err != nil {
		t.Fatalf("creating: got error %v", err)
	}
	byHandOn(t, s, fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d WHERE name = 'pets'", pets.MaxID-1))
	pet, err := s.CreatePet(t.Context(), newPet("last"))
	if err != nil || pet.ID != pets.MaxID {
		t.Errorf("the last pet: got id %d (error %v), want %d", pet.ID, err, int64(pets.MaxID))
	}
	for range 2 {
		if pet, err := s.CreatePet(t.Context(), newPet("one too many")); err == nil || pets.KindOf(err) != pets.Internal {
			t.Errorf("a pet past the last: got %v (error %v), want internal", pet, err)
		}
	}
	if n := countPets(t, s); n != 2 {
		t.Errorf("got %d pets, want 2", n)
	}
}

func TestReadingPetsGoesAlongAnIndex(t *testing.T) {
	s, _ := mustOpen(t)
	check := func(when string) {
		for _, c := range []struct {
			query string
			args  []any
			want  string
		}{
			{selectPet, []any{1}, "SEARCH pets USING INTEGER PRIMARY KEY (rowid=?)"},
			{selectPets, []any{1, 2}, "SEARCH pets USING INTEGER PRIMARY KEY (rowid>?)"},
			{selectPetsByStatus, []any{"sold", 1, 2}, "SEARCH pets USING INDEX pets_by_status (status=? AND id>?)"},
		} {
			if got := plan(t, s.readers.db, c.query, c.args...); got != c.want {
				t.Errorf("%s, %s: got %q, want %q", when, c.query, got, c.want)
			}
		}
	}
	check("empty")
	// A status that nearly all pets have is where a planner with statistics
	// would be tempted to scan.
	byHandOn(t, s, `WITH RECURSIVE series(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM series WHERE n < 5000)
		INSERT INTO pets (name, category_id, status)
		SELECT 'Rex', n, iif(n % 500 = 0, 'available', 'sold') FROM series`)
	check("full")
	byHandOn(t, s, "ANALYZE")
	check("analysed")
}

func plan(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: got error %v", query, err)
	}
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatalf("%s: got error %v", query, err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: got error %v", query, err)
	}
	return strings.Join(steps, "; ")
}

func TestTheLogStaysSmallOverManyWrites(t *testing.T) {
	s, path := mustOpen(t)
	const animals, most = 20_000, 8 << 20
	name := strings.Repeat("x", 400) // so that the log would grow past most several times over
	var created, largest atomic.Int64
	var callers sync.WaitGroup
	for range maxBatch {
		callers.Go(func() {
			for n := created.Add(1); n <= animals; n = created.Add(1) {
				pet, err := s.CreatePet(t.Context(), newPet(name))
				if err != nil {
					t.Errorf("creating: got error %v", err)
					return
				}
				if n%8 != 0 {
					continue
				}
				// Reading holds the log back from being begun anew.
				if _, err := s.Pets(t.Context(), pets.Query{After: pet.ID - 20, Limit: 20}); err != nil {
					t.Errorf("listing: got error %v", err)
				}
				if info, err := os.Stat(path + "-wal"); err == nil {
					largest.Store(max(largest.Load(), info.Size()))
				}
			}
		})
	}
	callers.Wait()
	t.Logf("the log had at most %d bytes", largest.Load())
	if got := largest.Load(); got == 0 || got > most {
		t.Errorf("the log: got %d bytes, want some and at most %d", got, most)
	}
	if n := countPets(t, s); n != animals {
		t.Errorf("got %d pets, want %d", n, animals)
	}
}

// Where a reader came between a commit and the fold behind it, all is folded and the
// next write cannot begin the log anew.
func TestALogThatAReaderHeldWhenAllWasFoldedBeginsAnewSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := mustOpen(t)
		read := func() (end func()) {
			conn, err := s.readers.db.Conn(t.Context())
			if err == nil {
				_, err = conn.ExecContext(t.Context(), "BEGIN")
			}
			if err == nil {
				err = conn.QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(new(int))
			}
			if err != nil {
				t.Fatalf("reading: got error %v", err)
			}
			return func() {
				if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
					t.Errorf("ending the read: got error %v", err)
				}
				_ = conn.Close()
			}
		}
		create := func() {
			outcomes := createInTheBackground(t.Context(), s, 1)
			settle()
			wantCreated(t, s, outcomes)
		}
		create()
		early := read()
		byHandOn(t, s, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) INSERT INTO pets (name, category_id, status) SELECT printf('%.*c', 800, 'x'), 1, status FROM pets, n")
		settle()
		late := read()
		early()
		f := s.committer.folder
		if err := f.afterCommit(); err != nil { // the fold of a commit before which late began
			t.Fatalf("folding: got error %v", err)
		}
		create()
		late()
		create()
		create()
		var busy, pages, folded int
		if err := f.run.QueryRow().Scan(&busy, &pages, &folded); err != nil || pages >= foldPages {
			t.Errorf("once the readers have ended: got a log of %d pages (error %v), want it begun anew", pages, err)
		}
	})
}

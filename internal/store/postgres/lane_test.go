//go:build postgres

package postgres

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/petstore"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// openDatabase opens a store on a database of its own.
func openDatabase(t *testing.T) (s *Store, address string) {
	t.Helper()
	address = pgtest.Database(t)
	s, err := Open(t.Context(), address)
	if err != nil {
		t.Fatalf("opening: got error %v, want a store", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, address
}

func newTurn(sql string, args ...any) *turn {
	return &turn{
		ended: make(chan struct{}),
		statement: statement{sql: sql, args: args, take: func(r pgx.BatchResults) error {
			_, err := r.Exec()
			return err
		}},
	}
}

func TestCallsThatComeAtOnceAreCommittedTogether(t *testing.T) {
	s, address := openDatabase(t)
	var turns []*turn
	for i := range 8 {
		turns = append(turns, newTurn(InsertPet, "Rex", 1, "sold", "key", strconv.Itoa(i)))
	}
	s.writes.carry(turns)
	for i, turn := range turns {
		if <-turn.ended; turn.err != nil {
			t.Errorf("call %d: got error %v, want none", i, turn.err)
		}
	}
	pets := pgtest.Query[int](t, address, "SELECT count(*) FROM pets")
	commits := pgtest.Query[int](t, address, "SELECT count(DISTINCT xmin::text) FROM pets")
	if pets != len(turns) || commits != 1 {
		t.Errorf("got %d pets by %d commits, want %d by one", pets, commits, len(turns))
	}
}

func TestAStatementTheDatabaseRefusesDoesNotFailItsNeighbours(t *testing.T) {
	s, address := openDatabase(t)
	refused := newTurn(InsertPet, "\x00", 1, "sold", "key", "refused")
	turns := []*turn{
		newTurn(InsertPet, "Rex", 1, "sold", "key", "before"),
		refused,
		newTurn(InsertPet, "Rex", 1, "sold", "key", "after"),
	}
	s.writes.carry(turns)
	for i, turn := range turns {
		<-turn.ended
		if (turn.err != nil) != (turn == refused) {
			t.Errorf("call %d: got error %v, want one of the refused call alone", i, turn.err)
		}
	}
	if got := classOf(refused.err); got != clientsFault {
		t.Errorf("the refused call: got class %v of %v, want the client's fault", got, refused.err)
	}
	if pets := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); pets != 2 {
		t.Errorf("got %d pets, want those of the two others", pets)
	}
}

func TestACallerWhoWithdrewIsNotCarried(t *testing.T) {
	s, address := openDatabase(t)
	withdrew := newTurn(InsertPet, "Rex", 1, "sold", "key", "one")
	withdrew.state.Store(withdrawn)
	stays := newTurn(InsertPet, "Rex", 1, "sold", "key", "two")
	s.writes.carry([]*turn{withdrew, stays})
	<-stays.ended
	if key := pgtest.Query[string](t, address, "SELECT string_agg(idempotency_key, ' ') FROM pets"); key != "two" || stays.err != nil {
		t.Errorf("got the pets %q (error %v), want the other's alone", key, stays.err)
	}
}

// Whoever needs a table that nobody has locked does not wait with those who
// need one that somebody has.
func TestCallsThatWaitForALockHoldNoOthersUp(t *testing.T) {
	s, address := openDatabase(t)
	release := pgtest.Lock(t, address, "LOCK TABLE keys IN ACCESS EXCLUSIVE MODE")
	var stuck sync.WaitGroup
	first := int(s.config.MaxConns - s.reads.carriers.more)
	for n := range first {
		stuck.Go(func() {
			if _, err := s.Key(t.Context(), "none"); petstore.KindOf(err) != petstore.NotFound {
				t.Errorf("a key: got error %v, want not found once the lock is gone", err)
			}
		})
		pgtest.Eventually(t, 20*time.Second, "a carrier being stuck", func() bool {
			return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_locks WHERE NOT granted") == n+1
		})
	}
	if _, err := s.Pet(t.Context(), 1); petstore.KindOf(err) != petstore.NotFound {
		t.Errorf("a pet: got error %v, want not found", err)
	}
	release()
	stuck.Wait()
}

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

// stickAll has every carrier of the reading lane wait for a lock, until release.
func stickAll(t *testing.T, s *Store, address string) (release func()) {
	t.Helper()
	unlock := pgtest.Lock(t, address, "LOCK TABLE keys IN ACCESS EXCLUSIVE MODE")
	var stuck sync.WaitGroup
	for n := range int(s.config.MaxConns - s.reads.carriers.more) {
		stuck.Go(func() {
			if _, err := s.Key(t.Context(), "none"); petstore.KindOf(err) != petstore.NotFound {
				t.Errorf("a key: got error %v, want not found once the lock is gone", err)
			}
		})
		pgtest.Eventually(t, 20*time.Second, "a carrier being stuck", func() bool {
			return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_locks WHERE NOT granted") == n+1
		})
	}
	return func() { unlock(); stuck.Wait() }
}

// Whoever needs a table that nobody has locked does not wait with those who
// need one that somebody has.
func TestCallsThatWaitForALockHoldNoOthersUp(t *testing.T) {
	s, address := openDatabase(t)
	defer stickAll(t, s, address)()
	if _, err := s.Pet(t.Context(), 1); petstore.KindOf(err) != petstore.NotFound {
		t.Errorf("a pet: got error %v, want not found", err)
	}
}

// Nor do those who came while nothing seemed slow yet, if nobody comes after them.
func TestACallThatFindsNoCarrierIsCarriedOnceTheyTurnOutToBeSlow(t *testing.T) {
	s, address := openDatabase(t)
	defer stickAll(t, s, address)()
	s.reads.carriers.usual.Store(0)
	s.reads.carriers.last.Store(time.Now().Add(100 * time.Millisecond).UnixNano())
	if _, err := s.Pet(t.Context(), 1); petstore.KindOf(err) != petstore.NotFound {
		t.Errorf("a pet: got error %v, want not found", err)
	}
}

// pgx calls it safe to try again on a closed connection, and in some query modes
// says so of one that has broken off after the statement was sent.
func TestAClosedConnectionDoesNotSayThatNothingWasSent(t *testing.T) {
	c, err := pgx.Connect(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "SELECT 1"); classOf(err) != unknown {
		t.Errorf("got class %v of %v, want unknown", classOf(err), err)
	}
}

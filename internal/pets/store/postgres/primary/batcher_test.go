//go:build postgres

package primary

import (
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// openItems opens a database of its own with a table items.
func openItems(t *testing.T) (db *DB, address string) {
	t.Helper()
	address = pgtest.Database(t)
	pgtest.Exec(t, address, "CREATE TABLE items (name text PRIMARY KEY)", "CREATE TABLE others (name text)")
	return open(t, address), address
}

func open(t *testing.T, address string) *DB {
	t.Helper()
	db, err := Open(t.Context(), address)
	if err != nil {
		t.Fatalf("opening %s: got error %v, want none", address, err)
	}
	t.Cleanup(db.Close)
	return db
}

func exec(sql string, args ...any) Statement {
	return Statement{SQL: sql, Args: args, Scan: func(r pgx.BatchResults) error {
		_, err := r.Exec()
		return err
	}}
}

const insert = "INSERT INTO items (name) VALUES ($1)"

func TestCallsOfABatchShareACommit(t *testing.T) {
	db, address := openItems(t)
	var calls []*call
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		calls = append(calls, newCall(exec(insert, name)))
	}
	db.writes.execute(calls)
	for i, c := range calls {
		if <-c.done; c.err != nil {
			t.Errorf("call %d: got error %v, want none", i, c.err)
		}
	}
	items := pgtest.Query[int](t, address, "SELECT count(*) FROM items")
	commits := pgtest.Query[int](t, address, "SELECT count(DISTINCT xmin::text) FROM items")
	if items != len(calls) || commits != 1 {
		t.Errorf("got %d items by %d commits, want %d by one", items, commits, len(calls))
	}
}

func TestARefusedStatementDoesNotFailTheOthersOfItsBatch(t *testing.T) {
	db, address := openItems(t)
	refused := newCall(exec(insert, "\x00"))
	calls := []*call{newCall(exec(insert, "before")), refused, newCall(exec(insert, "after"))}
	db.writes.execute(calls)
	for i, c := range calls {
		if <-c.done; (c.err != nil) != (c == refused) {
			t.Errorf("call %d: got error %v, want an error of the refused call alone", i, c.err)
		}
	}
	if got := OutcomeOf(refused.err); got != BadInput {
		t.Errorf("the refused call: got outcome %v of %v, want bad input", got, refused.err)
	}
	if items := pgtest.Query[int](t, address, "SELECT count(*) FROM items"); items != 2 {
		t.Errorf("got %d items, want those of the two others", items)
	}
}

func TestAWithdrawnCallIsNotExecuted(t *testing.T) {
	db, address := openItems(t)
	gone := newCall(exec(insert, "one"))
	gone.state.Store(withdrawn)
	stays := newCall(exec(insert, "two"))
	db.writes.execute([]*call{gone, stays})
	<-stays.done
	if names := pgtest.Query[string](t, address, "SELECT string_agg(name, ' ') FROM items"); names != "two" || stays.err != nil {
		t.Errorf("got the items %q (error %v), want the second alone", names, stays.err)
	}
}

// blockWorkers has every first worker for reads wait for a lock, until release.
func blockWorkers(t *testing.T, db *DB, address string) (release func()) {
	t.Helper()
	unlock := pgtest.Lock(t, address, "LOCK TABLE others IN ACCESS EXCLUSIVE MODE")
	var blocked sync.WaitGroup
	for n := range int(db.cluster.config.MaxConns - db.reads.load.maxExtra) {
		blocked.Go(func() {
			if err := db.Read(t.Context(), exec("SELECT FROM others")); err != nil {
				t.Errorf("reading: got error %v, want none once the lock is gone", err)
			}
		})
		pgtest.Eventually(t, 20*time.Second, "a worker being blocked", func() bool {
			return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_locks WHERE NOT granted") == n+1
		})
	}
	return func() { unlock(); blocked.Wait() }
}

func TestCallsThatWaitForALockBlockNoOthers(t *testing.T) {
	db, address := openItems(t)
	defer blockWorkers(t, db, address)()
	if err := db.Read(t.Context(), exec("SELECT FROM items")); err != nil {
		t.Errorf("reading another table: got error %v, want none", err)
	}
}

// The workers seem fast when the call comes, and no call comes after it.
func TestACallGetsAnotherWorkerOnceTheOthersTurnOutToBeSlow(t *testing.T) {
	db, address := openItems(t)
	defer blockWorkers(t, db, address)()
	db.reads.load.round.Store(0)
	db.reads.load.lastTaken.Store(time.Now().Add(100 * time.Millisecond).UnixNano())
	if err := db.Read(t.Context(), exec("SELECT FROM items")); err != nil {
		t.Errorf("reading another table: got error %v, want none", err)
	}
}

// pgx allows to retry on a closed connection, and in some query modes says so of
// a connection that broke after the statement was sent.
func TestAClosedConnectionDoesNotMeanThatNothingWasSent(t *testing.T) {
	c, err := pgx.Connect(t.Context(), pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), "SELECT 1"); OutcomeOf(err) != MaybeExecuted {
		t.Errorf("got outcome %v of %v, want that it may have been executed", OutcomeOf(err), err)
	}
}

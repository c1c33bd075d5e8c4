//go:build postgres

package primary

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

// healed returns a primary and its promoted standby, which both accept writes, as
// after a partition. The address of the old primary is first in addresses.
func healed(t *testing.T) (old, successor *pgtest.Server, addresses string) {
	t.Helper()
	old = pgtest.Start(t)
	pgtest.Exec(t, old.Address("postgres"), "CREATE TABLE items (name text PRIMARY KEY)")
	successor = old.Standby(t, "one")
	return old, successor, pgtest.Addresses("postgres", old, successor)
}

// host returns the server that runs a statement of db.
func (db *DB) host(t *testing.T) string {
	t.Helper()
	var port string
	err := db.Write(t.Context(), Statement{
		SQL:  "SELECT inet_server_port()::text",
		Scan: func(r pgx.BatchResults) error { return r.QueryRow().Scan(&port) },
	})
	if err != nil {
		t.Fatalf("asking for the server: got error %v, want none", err)
	}
	return "127.0.0.1:" + port
}

func TestOfTwoServersThatAcceptWritesTheSuccessorIsUsed(t *testing.T) {
	t.Parallel()
	old, successor, addresses := healed(t)
	successor.Promote(t)
	for _, address := range []string{addresses, pgtest.Addresses("postgres", successor, old)} {
		if got := open(t, address).host(t); got != successor.Host() {
			t.Errorf("%s: got statements run by %s, want by the successor %s", address, got, successor.Host())
		}
	}
}

// The standby is promoted while the old primary runs. A write that waits for
// that standby is retried on it, and nothing goes back.
func TestAnOldPrimaryInUseIsAbandonedForItsSuccessorAndNeverUsedAgain(t *testing.T) {
	t.Parallel()
	old, successor, addresses := healed(t)
	db := open(t, addresses)
	if got := db.host(t); got != old.Host() {
		t.Fatalf("before: got statements run by %s, want by %s", got, old.Host())
	}
	old.Configure(t, map[string]string{"synchronous_standby_names": "one"})
	successor.Promote(t)
	if err := db.Write(t.Context(), exec(insert+" ON CONFLICT DO NOTHING", "during")); err != nil {
		t.Errorf("a write that waits for the promoted standby: got error %v, want it run by the successor", err)
	}
	if got := pgtest.Query[string](t, successor.Address("postgres"), "SELECT string_agg(name, ' ') FROM items"); got != "during" {
		t.Errorf("the successor: got items %q, want the write", got)
	}
	if s := db.State(); s.Timeline != 2 || s.Switches != 1 {
		t.Errorf("state: got timeline %d after %d switches, want 2 after 1", s.Timeline, s.Switches)
	}
	successor.Kill()
	err := db.Write(t.Context(), exec(insert, "after"))
	if err == nil || OutcomeOf(err) != NotExecuted {
		t.Errorf("without the successor: got error %v (%v), want that nothing was executed", err, OutcomeOf(err))
	}
	if got := pgtest.Query[int](t, old.Address("postgres"), "SELECT count(*) FROM items WHERE name = 'after'"); got != 0 {
		t.Errorf("the old primary: got %d items, want none", got)
	}
}

// No statement is slow, so only the monitor can notice the successor.
func TestTheMonitorAbandonsAnOldPrimaryAndSaysSoOnce(t *testing.T) {
	t.Parallel()
	old, successor, addresses := healed(t)
	db := open(t, addresses)
	var log logged
	db.Monitor(slog.New(slog.NewTextHandler(&log, nil)), true)
	if got := db.host(t); got != old.Host() {
		t.Fatalf("before: got statements run by %s, want by %s", got, old.Host())
	}
	successor.Promote(t)
	pgtest.Eventually(t, time.Minute, "statements being run by the successor", func() bool { return db.host(t) == successor.Host() })
	pgtest.Eventually(t, time.Minute, "the old primary being in the state", func() bool {
		s := db.State()
		return len(s.OldPrimaries) == 1 && s.OldPrimaries[0] == old.Host() && s.Standbys == 0
	})
	if n := log.count("level=ERROR msg=\"an old primary still accepts writes"); n != 1 {
		t.Errorf("log: got %d errors about the old primary, want 1: %s", n, log.String())
	}
	if n := log.count("level=WARN msg=\"the primary has no synchronous standby"); n != 1 {
		t.Errorf("log: got %d warnings about the standby, want 1: %s", n, log.String())
	}
	successor.Configure(t, map[string]string{"synchronous_standby_names": "two"})
	successor.Standby(t, "two")
	pgtest.Eventually(t, time.Minute, "the standby being in the state", func() bool { return db.State().Standbys == 1 })
	pgtest.Eventually(t, time.Minute, "the standby being in the log", func() bool { return log.count("has a synchronous standby again") == 1 })
	old.Kill()
	pgtest.Eventually(t, time.Minute, "the old primary leaving the state", func() bool { return len(db.State().OldPrimaries) == 0 })
}

func TestAHostThatTellsNoTimelineIsUsed(t *testing.T) {
	server := pgtest.Start(t)
	address := server.Address("postgres")
	pgtest.Exec(t, address, "CREATE ROLE pets LOGIN", "REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC")
	db := open(t, strings.Replace(address, "postgres@", "pets@", 1))
	if got := db.host(t); got != server.Host() || db.State().Timeline != 0 {
		t.Errorf("got statements run by %s on timeline %d, want by %s on none", got, db.State().Timeline, server.Host())
	}
}

// logged is a log that is read while it is written.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func (l *logged) count(text string) int { return strings.Count(l.String(), text) }

//go:build postgres

package primary

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
)

func readStandbys(t *testing.T, db *DB) error {
	t.Helper()
	return db.ReadStandbys(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil)))
}

func TestReadsOfStandbysThatCouldBeInexactAreRefusedByName(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	standby := server.Standby(t, "one")
	addresses := pgtest.Addresses("postgres", server, standby)
	pgtest.Exec(t, server.Address("postgres"), "CREATE ROLE pets LOGIN", "CREATE ROLE untimed LOGIN", "GRANT pg_monitor TO pets, untimed", "CREATE ROLE lazy LOGIN",
		"GRANT pg_monitor TO lazy", "ALTER ROLE lazy SET synchronous_commit = off", "CREATE ROLE local LOGIN", "GRANT pg_monitor TO local",
		"ALTER ROLE local SET synchronous_commit = local", "CREATE ROLE unprivileged LOGIN",
		"REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC", "GRANT EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) TO pets, lazy, local, unprivileged")
	as := func(user string) string { return strings.Replace(addresses, "postgres@", user+"@", 1) }
	pooler := server.Pooler(t)
	for _, c := range []struct{ address, want string }{
		{server.Address("postgres"), "names one host only"},
		{as("lazy"), "synchronous_commit is off"},
		{as("local"), "synchronous_commit is local"},
		{as("unprivileged"), `GRANT pg_monitor TO "unprivileged"`},
		{as("untimed"), "does not tell its timeline"},
		{pooler.Address(server.Address("postgres")), "PgBouncer"},
		{pooler.Address(addresses), "PgBouncer"},
	} {
		if err := readStandbys(t, open(t, c.address)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "--reads standbys: ") {
			t.Errorf("%s: got error %v, want a refusal that says %q", c.address, err, c.want)
		}
	}
	if err := readStandbys(t, open(t, as("pets"))); err != nil {
		t.Errorf("a member of pg_monitor: got error %v, want none", err)
	}
}

// reads is a cluster whose standby serves reads of the table items.
type reads struct {
	primary, standby *pgtest.Server
	db               *DB
}

func startReads(t *testing.T, settings ...string) *reads {
	t.Helper()
	r := &reads{primary: pgtest.Start(t)}
	pgtest.Exec(t, r.primary.Address("postgres"), "CREATE TABLE items (name text PRIMARY KEY)", "INSERT INTO items VALUES ('first')")
	r.standby = r.primary.Standby(t, "one", settings...)
	r.db = open(t, pgtest.Addresses("postgres", r.primary, r.standby))
	if err := readStandbys(t, r.db); err != nil {
		t.Fatalf("reading standbys: got error %v, want none", err)
	}
	r.wantServed(t)
	return r
}

// names returns the names of the items, in the order of the statement.
func (r *reads) names(t *testing.T, order string) string {
	t.Helper()
	const from = " FROM items ORDER BY "
	return r.read(t, "SELECT name"+from+order, "SELECT name, xmin"+from+order)
}

// read returns the names that a statement reads, on the primary or on the standby.
func (r *reads) read(t *testing.T, onPrimary, onStandby string) string {
	t.Helper()
	var names []string
	err := r.db.Read(t.Context(), Statement{
		SQL: onPrimary, WithXmin: onStandby,
		Scan: func(results pgx.BatchResults) error {
			rows, err := results.Query()
			if err != nil {
				return err
			}
			names, err = pgx.CollectRows(rows, pgx.RowTo[string])
			return err
		},
	})
	if err != nil {
		t.Errorf("reading: got error %v, want none", err)
	}
	return strings.Join(names, " ")
}

// wantServed waits until the standby serves a read.
func (r *reads) wantServed(t *testing.T) {
	t.Helper()
	by := Reads{r.standby.Host(), "exact"}
	before := r.db.State().Reads[by]
	pgtest.Eventually(t, time.Minute, "a read by the standby", func() bool {
		r.names(t, "name")
		return r.db.State().Reads[by] > before
	})
}

// wantReason has f read until the primary has served a read for that reason.
func (r *reads) wantReason(t *testing.T, reason string, f func()) {
	t.Helper()
	pgtest.Eventually(t, time.Minute, "a read by the primary for the reason "+reason, func() bool {
		f()
		return r.db.State().Reads[Reads{"primary", reason}] > 0
	})
}

// A transaction that has not ended holds xmin back: whether the primary shows the
// rows of later transactions, the standby cannot tell.
func TestRowsLaterThanTheOldestTransactionAreReadFromThePrimary(t *testing.T) {
	t.Parallel()
	r := startReads(t)
	release := pgtest.Lock(t, r.primary.Address("postgres"), "INSERT INTO items VALUES ('never')")
	pgtest.Exec(t, r.primary.Address("postgres"), "INSERT INTO items VALUES ('second')")
	r.wantReason(t, "newer_row", func() {
		if got := r.names(t, "name"); got != "first second" {
			t.Errorf("got the items %q, want both that were committed", got)
		}
	})
	release()
	r.wantServed(t)
}

// The standby cancels a read that is in the way of its replay for too long.
func TestAReadThatTheStandbyCancelsIsReadFromThePrimary(t *testing.T) {
	t.Parallel()
	r := startReads(t, "max_standby_streaming_delay=0")
	r.wantReason(t, "conflict", func() {
		read := make(chan string)
		go func() { read <- r.names(t, "name, pg_sleep(0.3)::text") }()
		pgtest.Lock(t, r.primary.Address("postgres"), "LOCK TABLE items IN ACCESS EXCLUSIVE MODE")()
		pgtest.Exec(t, r.primary.Address("postgres"), "SELECT pg_logical_emit_message(true, 'test', '')::text") // the log is flushed with the commit
		if got := <-read; got != "first" {
			t.Errorf("got the items %q, want the first", got)
		}
	})
	r.wantServed(t)
}

// sleeping counts the sessions of the service on the standby that run a pg_sleep.
func (r *reads) sleeping(t *testing.T) int {
	t.Helper()
	return pgtest.Query[int](t, r.standby.Address("postgres"),
		"SELECT count(*) FROM pg_stat_activity WHERE application_name = 'petstore' AND state = 'active' AND query LIKE '%pg_sleep%'")
}

// endSessions ends all sessions of the service (57P01).
const endSessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'petstore'"

func TestAReadWhoseSessionTheStandbyEndsIsReadFromThePrimary(t *testing.T) {
	t.Parallel()
	r := startReads(t)
	r.wantReason(t, "connection", func() {
		read := make(chan string, 1)
		go func() {
			read <- r.read(t, "SELECT name FROM items", "SELECT name, xmin FROM items WHERE pg_sleep(0.3) IS NOT NULL")
		}()
		// The primary may serve it after all.
		pgtest.Eventually(t, time.Minute, "the read", func() bool { return len(read) > 0 || r.sleeping(t) > 0 })
		pgtest.Exec(t, r.standby.Address("postgres"), endSessions)
		if got := <-read; got != "first" {
			t.Errorf("got the items %q, want the first", got)
		}
	})
	r.wantServed(t)
}

// The standby refuses connections while it shuts down, as while it starts (57P03).
func TestReadsOfAStandbyThatShutsDownAreReadFromThePrimary(t *testing.T) {
	t.Parallel()
	r := startReads(t)
	last, err := pgx.Connect(t.Context(), r.standby.Address("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	r.standby.ShutDown()
	pgtest.Eventually(t, time.Minute, "connections being refused by 57P03", func() bool {
		c, err := pgx.Connect(t.Context(), r.standby.Address("postgres"))
		if err == nil {
			_ = c.Close(t.Context())
		}
		refused, ok := errors.AsType[*pgconn.PgError](err)
		return ok && refused.Code == "57P03"
	})
	if _, err := last.Exec(t.Context(), endSessions); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, r.primary.Address("postgres"), "INSERT INTO items VALUES ('second')")
	r.wantReason(t, "no_standby", func() {
		if got := r.names(t, "name"); got != "first second" {
			t.Errorf("got the items %q, want both", got)
		}
	})
	_ = last.Close(t.Context())
	r.standby.Kill()
	r.standby.Restart(t)
	r.wantServed(t)
}

func TestAReadThatAStandbyDoesNotEndLeavesNoSessionBehind(t *testing.T) {
	t.Parallel()
	r := startReads(t)
	r.wantReason(t, "hang", func() {
		if got := r.read(t, "SELECT name FROM items", "SELECT name, xmin FROM items WHERE pg_sleep(30) IS NOT NULL"); got != "first" {
			t.Errorf("got the items %q, want the first", got)
		}
	})
	pgtest.Eventually(t, 10*time.Second, "the end of its session", func() bool { return r.sleeping(t) == 0 })
	r.wantServed(t)
}

// An error of reads alone leaves a standby fit.
func TestAnErrorOfAStandbyHasAReason(t *testing.T) {
	server := func(severity, code string) error { return &pgconn.PgError{SeverityUnlocalized: severity, Code: code} }
	for _, c := range []struct {
		err  error
		want string
		fit  bool
	}{
		{nil, "", true},
		{server("ERROR", "40001"), "conflict", true}, // the replay was in need of what the read held
		{server("FATAL", "40001"), "conflict", true}, // its database was dropped
		{server("ERROR", "40P01"), "conflict", true}, // the replay and the read waited for each other
		{server("FATAL", "57P01"), "connection", false},
		{server("FATAL", "57P03"), "connection", false},
		{&pgconn.ConnectError{}, "connection", false},
		{io.ErrUnexpectedEOF, "connection", false},
		{server("ERROR", "42P01"), "statement", true}, // a table that it does not have yet
		{context.DeadlineExceeded, "hang", false},
		{errBehind, "lag", false},
		{errNotInRecovery, "not_streaming", false},
		{errOtherTimeline, "not_streaming", false},
		{errNewer, "newer_row", true},
		{errUnfit, "unfit", true},
		{errNoWorker, "unfit", true},
		{errPooler, "connection", false},
	} {
		h := &standby{}
		s := &standbys{hosts: []*standby{h}, log: slog.New(slog.DiscardHandler)}
		h.fit.Store(true)
		s.note(h, c.err)
		if got := reason(c.err); got != c.want || h.fit.Load() != c.fit {
			t.Errorf("%v: got the reason %q and a fit standby %t, want %q and %t", c.err, got, h.fit.Load(), c.want, c.fit)
		}
	}
}

func TestReadsThatWaitForAStandbyWhileOthersFailDoNotTryIt(t *testing.T) {
	h := &standby{} // which has no connections
	c := newCall(Statement{})
	if h.execute([]*call{c}); !errors.Is(c.err, errUnfit) {
		t.Errorf("got error %v, want %v", c.err, errUnfit)
	}
}

// So a standby that hangs gets a few reads more, and not half of them.
func TestTheStandbyWithTheFewestReadsIsChosen(t *testing.T) {
	unfit, hangs, idle := &standby{}, &standby{}, &standby{}
	hangs.fit.Store(true)
	idle.fit.Store(true)
	hangs.waiting.Store(1)
	s := &standbys{hosts: []*standby{unfit, hangs, idle}}
	for range 2 * len(s.hosts) {
		if got := s.choose(); got != idle {
			t.Fatalf("got another standby, want the idle one")
		}
	}
}

// Its data may be as new as the primary's, but nobody knows for how long.
func TestAStandbyThatIsCutOffServesNoReadsUntilItStreamsAgain(t *testing.T) {
	t.Parallel()
	r := startReads(t)
	_, port, _ := strings.Cut(r.primary.Host(), ":")
	r.standby.Configure(t, map[string]string{"primary_conninfo": "host=127.0.0.1 port=1"})
	pgtest.Eventually(t, time.Minute, "the standby being unfit, and its lag growing", func() bool {
		standby := r.db.State().Hosts[r.standby.Host()]
		return !standby.Fit && standby.Lag > maxLag
	})
	pgtest.Exec(t, r.primary.Address("postgres"), "INSERT INTO items VALUES ('second')")
	r.wantReason(t, "no_standby", func() {
		if got := r.names(t, "name"); got != "first second" {
			t.Errorf("got the items %q, want both", got)
		}
	})
	r.standby.Configure(t, map[string]string{"primary_conninfo": "host=127.0.0.1 user=postgres port=" + port})
	r.wantServed(t)
	pgtest.Eventually(t, time.Minute, "its lag being small again", func() bool { return r.db.State().Hosts[r.standby.Host()].Lag < maxLag })
}

func TestAReadWhoseCommitsDoNotWaitForTheLogIsReadFromThePrimary(t *testing.T) {
	t.Parallel()
	r := startReads(t)
	r.primary.Configure(t, map[string]string{"synchronous_commit": "off"})
	r.wantReason(t, "no_position", func() { r.names(t, "name") })
	r.primary.Configure(t, map[string]string{"synchronous_commit": "on"})
	r.wantServed(t)
}

func TestReadsThatWaitShareAQuestion(t *testing.T) {
	t.Parallel()
	r := startReads(t)
	a := &asker{primary: r.db.reads}
	const reads, rounds = 64, 20
	asked := map[time.Time]bool{}
	for range rounds {
		positions := make(chan position)
		for range reads {
			go func() {
				p, err := a.ask(context.Background())
				if err != nil {
					t.Errorf("asking: got error %v, want a position", err)
				}
				positions <- p
			}()
		}
		for range reads {
			asked[(<-positions).asked] = true
		}
	}
	if len(asked) > reads*rounds/4 {
		t.Errorf("got %d questions for %d reads, want that many share one", len(asked), reads*rounds)
	}
}

// Half of all numbers are before a transaction and half are not, whatever it is.
func TestXminIsComparedModulo32Bits(t *testing.T) {
	for _, c := range []struct {
		xmin, oldest uint32
		newer        bool
	}{
		{10, 11, false},
		{11, 11, true},
		{12, 11, true},
		{1<<32 - 1, 5, false},
		{5, 1<<32 - 1, true},
		{2, 1<<32 - 1, false},
		{0, 0, false},
		{1<<31 - 1, 0, true},
		{1 << 31, 0, false},
	} {
		if got := mayBeNewer(c.xmin, c.oldest); got != c.newer {
			t.Errorf("xmin %d, oldest %d: got that it may be newer %v, want %v", c.xmin, c.oldest, got, c.newer)
		}
	}
}

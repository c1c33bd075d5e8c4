//go:build postgres

package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/db/postgres/pgtest"
	"example.com/petstore/engine/fault"
)

// TestFaultUnderLoad makes the primary fail while 16 clients insert notes and one is idle. The
// remaining server must have every acknowledged note exactly once.
func TestFaultUnderLoad(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(t *testing.T, primary *pgtest.Server){
		"kill": func(_ *testing.T, primary *pgtest.Server) { primary.Kill() },
		"hang": func(_ *testing.T, primary *pgtest.Server) { primary.Hang() },
		"demotion": func(t *testing.T, primary *pgtest.Server) {
			primary.Configure(t, "default_transaction_read_only", "on")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary, standby := pgtest.Pair(t)
			rejects(t, standby.Address("postgres"), "the server is a standby")
			address := among(primary, standby)
			d, quiet := mustOpen(t, address), mustOpen(t, address)
			l := dbtest.Load(t, d.insert)
			l.Read(t, d.list) // of the same process: another one may read the old primary
			quiet.mustInsert(t)
			l.Wait(t, 300)
			fault(t, primary)
			standby.Promote(t)
			l.Wait(t, 300)
			l.Check(t, mustOpen(t, standby.Address("postgres")).list)
			_, err := quiet.insert(t.Context(), "quiet", true) // its idle connection leads nowhere
			dbtest.WantError(t, "a client that was idle", err, "")
		})
	}
}

// TestOldPrimary promotes a standby while the primary keeps running. The old primary gets no writes once
// a process has seen the new one, nor from a process that starts.
func TestOldPrimary(t *testing.T) {
	t.Parallel()
	old, primary := pgtest.Pair(t)
	both := among(old, primary)
	log, logger := dbtest.NewLog()
	d := mustOpen(t, both, logger)
	d.mustInsert(t)
	primary.Promote(t)
	old.Configure(t, "synchronous_standby_names", "")
	const allow = "ALTER DATABASE postgres ALLOW_CONNECTIONS "
	pgtest.Exec(t, old.Address("template1"), allow+"false")
	_ = d.Read(t.Context(), func(context.Context, *pgx.Conn) error { d.mustInsert(t); return nil }) // on another connection
	pgtest.Exec(t, old.Address("template1"), allow+"true")
	for range 3 {
		d.mustInsert(t) // not on the connection from before
		d.pool.Reset()
	}
	mustOpen(t, both, logger).mustInsert(t)
	if text := log.String(); strings.Count(text, "it is an old primary") != 2 { // one of each process
		t.Errorf("got the log %s, want two lines about the old primary", text)
	}
	mustOpen(t, old.Address("postgres")).mustCount(t, 1) // a process that starts accepts it
	mustOpen(t, primary.Address("postgres")).mustCount(t, 6)
}

// TestOutage checks that calls fail with Unavailable while the only server is down, also a read that was sent.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	d := mustOpen(t, server.Address("postgres"))
	d.mustInsert(t)
	server.Kill()
	_, readErr := d.list(t.Context()) // on the connection that is open
	if got, found := dbtest.Metrics(t, d)["postgres_sync"]; found {
		t.Errorf("got postgres_sync %v, want none while it is unknown", got)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, cutOff := d.insert(short, "Call Ann", true)
	for _, err := range []error{readErr, cutOff} {
		dbtest.WantKind(t, "without a server", err, fault.Unavailable)
		dbtest.WantError(t, "without a server", err, "connection refused")
	}
	server.Run(t)
	d.mustInsert(t)
	if since := d.unreachableSince.Load(); since != 0 {
		t.Errorf("after the outage: got a server that is unreachable since %d", since)
	}
}

// TestSlow checks that a slow read does not keep writes from their connections, nor a write reads.
func TestSlow(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, pgtest.Start(t).Address("postgres")+"&pool_max_conns=2")
	nothing := func(context.Context, *pgx.Conn) error { return nil }
	type call = func(context.Context, func(context.Context, *pgx.Conn) error) error
	for _, c := range []struct{ slow, other call }{{d.Read, d.Write}, {d.Write, d.Read}} {
		err := c.slow(t.Context(), func(ctx context.Context, _ *pgx.Conn) error {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			dbtest.WantKind(t, "another one", c.slow(short, nothing), fault.Unavailable)
			return c.other(ctx, nothing)
		})
		dbtest.WantError(t, "a call beside a slow one", err, "")
	}
	_ = d.Write(t.Context(), func(context.Context, *pgx.Conn) error {
		if got := dbtest.Metrics(t, d); got["postgres_connections"] != 2 || got["postgres_connections_in_use"] != 1 {
			t.Errorf("got %v, want 2 connections, of which 1 is in use", got)
		}
		return nil
	})
}

// TestHosts has hosts with other answers before the primary, which they must not hide.
func TestHosts(t *testing.T) {
	t.Parallel()
	old, primary := pgtest.Pair(t)
	bad, silent := pgtest.Start(t), pgtest.Start(t)
	pgtest.Exec(t, bad.Address("template1"), "DROP DATABASE postgres")
	silent.Hang()
	d := mustOpen(t, among(bad, primary, silent, old))
	d.mustInsert(t)
	old.Kill()
	primary.Promote(t)
	_, err := d.insert(t.Context(), "Call Ann", true)
	dbtest.WantError(t, "insert once the old primary is gone", err, "")
	d.mustCount(t, 2)
	rejects(t, among(bad, old), "no writable primary can be reached: "+bad.Host())
	rejects(t, among(bad, old), "does not exist (SQLSTATE 3D000); "+old.Host())

	// One name with several addresses, of which one leads nowhere, as that of localhost.
	config, err := notebook.parse(primary.Address("postgres"))
	dbtest.Must(t, err)
	config.ConnConfig.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.9", "127.0.0.1"}, nil }
	if found, err := d.find(t.Context(), config.ConnConfig); err != nil || found != primary.Host() {
		t.Errorf("got host %v, error %v, want %s", found, err, primary.Host())
	}
}

// TestTwoPrimaries promotes two standbys to the same timeline.
func TestTwoPrimaries(t *testing.T) {
	t.Parallel()
	former := pgtest.Start(t)
	lower, higher := former.Standby(t), former.Standby(t)
	d := mustOpen(t, former.Address("postgres"))
	d.mustInsert(t)
	dbtest.Eventually(t, "both standbys", func() bool {
		return pgtest.Query[bool](t, former.Address("postgres"), "SELECT count(*) = 2 AND bool_and(replay_lsn = pg_current_wal_lsn()) FROM pg_stat_replication")
	})
	former.Kill()
	lower.Promote(t)
	higher.Promote(t)
	mustOpen(t, higher.Address("postgres")).mustInsert(t)
	pgtest.Exec(t, higher.Address("postgres"), "CREATE TABLE more AS SELECT generate_series(1, 10000)", "CHECKPOINT")
	log, logger := dbtest.NewLog()
	two := mustOpen(t, among(lower, higher), logger)
	two.mustCount(t, 2)
	if text := log.String(); strings.Count(text, "level=ERROR") != 1 || !strings.Contains(text, lower.Host()) || !strings.Contains(text, higher.Host()) {
		t.Errorf("got the log %s, want one ERROR with both hosts", text)
	}
	higher.Kill()
	_, err := two.list(t.Context())
	dbtest.WantError(t, "a read when only the lower is left", err, "its log ends before")
}

// among returns the address of a database on one of several servers.
func among(servers ...*pgtest.Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, s.Host())
	}
	return strings.Replace(servers[0].Address("postgres"), hosts[0], strings.Join(hosts, ","), 1)
}

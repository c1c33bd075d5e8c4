//go:build postgres

package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/db/postgres/pgtest"
	"example.com/petstore/engine/fault"
)

// TestFaultUnderLoad makes the primary fail while 16 clients insert notes and one is idle. The
// remaining server must have every acknowledged note exactly once.
func TestFaultUnderLoad(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(*testing.T, *pgtest.Server){
		"kill":     func(_ *testing.T, s *pgtest.Server) { s.Kill() },
		"hang":     func(_ *testing.T, s *pgtest.Server) { s.Hang() },
		"demotion": func(t *testing.T, s *pgtest.Server) { s.Configure(t, "default_transaction_read_only", "on") },
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
			assert.NoError(t, err, "a client that was idle")
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
	assert.Equal(t, 2, strings.Count(log.String(), "it is an old primary"), "one line of each process:\n%s", log)
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
	assert.NotContains(t, dbtest.Metrics(t, d), "postgres_sync", "while it is unknown")
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, cutOff := d.insert(short, "Call Ann", true)
	for _, err := range []error{readErr, cutOff} {
		dbtest.WantKind(t, "without a server", err, fault.Unavailable)
		assert.ErrorContains(t, err, "connection refused")
	}
	server.Run(t)
	d.mustInsert(t)
	assert.Zero(t, d.unreachableSince.Load(), "after the outage")
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
		assert.NoError(t, err, "a call beside a slow one")
	}
	_ = d.Write(t.Context(), func(context.Context, *pgx.Conn) error {
		want := map[string]float64{"postgres_connections": 2, "postgres_connections_in_use": 1}
		assert.Subset(t, dbtest.Metrics(t, d), want)
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
	assert.NoError(t, err, "insert once the old primary is gone")
	d.mustCount(t, 2)
	rejects(t, among(bad, old), "no writable primary can be reached: "+bad.Host())
	rejects(t, among(bad, old), "does not exist (SQLSTATE 3D000); "+old.Host())

	// One name with several addresses, of which one leads nowhere, as that of localhost.
	config, _ := notebook.parse(primary.Address("postgres"))
	config.ConnConfig.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"127.0.0.9", "127.0.0.1"}, nil }
	found, err := d.find(t.Context(), config.ConnConfig)
	assert.NoError(t, err)
	assert.Equal(t, primary.Host(), found)
}

// TestTwoPrimaries promotes two standbys to the same timeline.
func TestTwoPrimaries(t *testing.T) {
	t.Parallel()
	former := pgtest.Start(t)
	mustOpen(t, former.Address("postgres")).mustInsert(t)
	lower, higher := former.Standby(t), former.Standby(t)
	former.Kill()
	lower.Promote(t)
	higher.Promote(t)
	mustOpen(t, higher.Address("postgres")).mustInsert(t)
	pgtest.Exec(t, higher.Address("postgres"), "CREATE TABLE more AS SELECT generate_series(1, 10000)", "CHECKPOINT")
	log, logger := dbtest.NewLog()
	two := mustOpen(t, among(lower, higher)+"&connect_timeout=20", logger) // for a busy machine
	two.mustCount(t, 2)
	assert.Regexp(t, "^.* level=ERROR .* used="+higher.Host()+" .* other="+lower.Host()+" .*\n$", log, "one line")
	higher.Kill()
	_, err := two.list(t.Context())
	assert.ErrorContains(t, err, "its log ends before", "a read when only the lower is left")
}

// among returns the address of a database on one of several servers.
func among(servers ...*pgtest.Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, s.Host())
	}
	return strings.Replace(servers[0].Address("postgres"), hosts[0], strings.Join(hosts, ","), 1)
}

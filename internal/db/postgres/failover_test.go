//go:build postgres

package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/db/postgres/pgtest"
	"example.com/petstore/internal/fault"
)

// TestFaultUnderLoad makes the primary fail while 16 clients insert notes. The
// remaining server must hold every acknowledged note exactly once.
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
			refused(t, standby.Address("postgres"), "the server is a standby", true)
			l := pgtest.Load(t, mustOpen(t, pgtest.Address("postgres", primary.Host(), standby.Host())).insert)
			l.Wait(t, time.Minute, 300)
			fault(t, primary)
			standby.Promote(t)
			l.Wait(t, 30*time.Second, 1) // generous for all faults but a hang
			l.Wait(t, time.Minute, 300)
			l.Check(t, standby.Address("postgres"), "notebook.notes", "text")
		})
	}
}

// TestOutage checks that a write fails with Unavailable while the only server is down.
// The first after its death may have been sent, so its outcome may be unknown.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	d := mustOpen(t, server.Address("postgres"))
	insert := func(ctx context.Context, keyed bool) error {
		_, err := d.insert(ctx, "Call Ann", keyed)
		return err
	}
	d.mustInsert(t)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 2*pgtest.RequestTimeout)
	defer cancel()
	unknown, unavailable, ping := insert(ctx, false), insert(ctx, false), d.Ping(ctx)
	if ctx.Err() != nil {
		t.Errorf("got no answers before the end of their context")
	}
	if unknown == nil || ping != nil {
		t.Errorf("the first: got no error, want one; Ping in the first seconds: got error %v", ping)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, err := range []error{unavailable, insert(short, true)} {
		if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the next: got error %v (%v), want Unavailable, with the cause", err, fault.KindOf(err))
		}
	}
	server.Run(t)
	d.mustInsert(t)
}

// TestDurability checks which settings are refused, and that the metrics tell the same.
func TestDurability(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	d := mustOpen(t, address)
	const off, local, empty, hidden = "synchronous_commit is off", "synchronous_commit local", `synchronous_standby_names is ""`, "client_min_messages error"
	for _, c := range []struct {
		set, names      string // ALTER …, and synchronous_standby_names
		plain, required string // parts of the error of Open, without and with RequireSync
	}{
		{"ROLE postgres RESET ALL", "one", "", ""},
		{"ROLE postgres RESET ALL", "", "", empty},
		{"ROLE postgres SET synchronous_commit = remote_write", "one", "", ""},
		{"ROLE postgres SET synchronous_commit = off", "one", off, off},
		{"DATABASE postgres SET synchronous_commit = off", "one", off, off},
		{"ROLE postgres SET synchronous_commit = local", "one", "", local},
		{"ROLE postgres SET client_min_messages = warning", "one", "", ""},
		{"ROLE postgres SET client_min_messages = error", "one", "", hidden},
	} {
		t.Run(c.set+" "+c.names, func(t *testing.T) {
			pgtest.Exec(t, address, "ALTER "+c.set)
			server.Configure(t, "synchronous_standby_names", c.names)
			for required, want := range map[bool]string{false: c.plain, true: c.required} {
				d, err := Open(t.Context(), address, notebook, db.Options{RequireSync: required})
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("Open, required %v: got error %v, want %q", required, err, want)
				}
				if err == nil {
					got := figures(t, d)
					if (got["postgres_sync_required"] == 1) != required || (got["postgres_sync"] == 1) != (c.required == "") {
						t.Errorf("the metrics, required %v: got %v", required, got)
					}
					_ = d.Close()
				}
			}
			server.Configure(t, "synchronous_standby_names", "")
			pgtest.Exec(t, address, "ALTER ROLE postgres RESET ALL", "ALTER DATABASE postgres RESET ALL")
		})
	}

	// The metric follows the server.
	for _, c := range []struct {
		setting, value string
		want           float64
	}{{"synchronous_standby_names", "one", 1}, {"synchronous_commit", "local", 0}, {"synchronous_standby_names", "", 0}} {
		server.Configure(t, c.setting, c.value)
		pgtest.Eventually(t, 10*time.Second, "postgres_sync", func() bool { return figures(t, d)["postgres_sync"] == c.want })
	}
	server.Kill()
	if got, told := figures(t, d)["postgres_sync"]; told {
		t.Errorf("postgres_sync without a server: got %v, want none", got)
	}
}

// TestCheck checks that a database which may lose or hide rows is refused, by each new
// connection, too. Reads do not mind what endangers only writes.
func TestCheck(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	pgtest.Exec(t, address, "CREATE ROLE reader LOGIN")
	_ = mustOpen(t, address).Close()
	pgtest.Exec(t, address, "GRANT USAGE ON SCHEMA notebook TO reader", "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA notebook TO reader")
	address = strings.Replace(address, "postgres@", "reader@", 1)
	for _, c := range []struct {
		harm, mend, want string
		readers          bool // are refused, too
	}{
		{"ALTER TABLE notebook.notes ENABLE ROW LEVEL SECURITY", "ALTER TABLE notebook.notes DISABLE ROW LEVEL SECURITY", "row security may hide rows from the user, in the tables notes", true},
		{"ALTER TABLE notebook.notes SET UNLOGGED", "ALTER TABLE notebook.notes SET LOGGED", "UNLOGGED tables: notes", true},
		{"ALTER ROLE reader SET synchronous_commit = off", "ALTER ROLE reader RESET ALL", "synchronous_commit is off", false},
		{"ALTER SYSTEM SET fsync = off", "ALTER SYSTEM RESET fsync", "fsync is off", false},
		{"ALTER SYSTEM SET full_page_writes = off", "ALTER SYSTEM RESET full_page_writes", "full_page_writes is off", false},
	} {
		d := mustOpen(t, address)
		d.mustCount(t, 0)
		set := func(statement, want string) {
			pgtest.Exec(t, server.Address("postgres"), statement, "SELECT pg_reload_conf()",
				"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'")
			pgtest.Eventually(t, 10*time.Second, statement, func() bool {
				d, err := Open(t.Context(), address, notebook, db.Options{})
				if err == nil {
					_ = d.Close()
				}
				return (err == nil) == (want == "")
			})
		}
		set(c.harm, c.want)
		refused(t, address, c.want, c.readers)
		_, writeErr := d.insert(t.Context(), "Call Ann", false)
		_, readErr := d.count(t.Context())
		for what, err := range map[string]error{"insert": writeErr, "count": readErr} {
			if what == "count" && !c.readers {
				if err != nil {
					t.Errorf("%s: count: got error %v", c.harm, err)
				}
			} else if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: got error %v, want Unavailable: %s", c.harm, what, err, c.want)
			}
		}
		set(c.mend, "")
	}
}

// figures returns the metrics of d by their names.
func figures(t *testing.T, d *DB) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(d)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		all[f.GetName()] = f.GetMetric()[0].GetGauge().GetValue()
	}
	return all
}

// TestSync uses a server that waits for a standby that does not exist. If the wait is
// canceled, the server reports success although no standby has the note: the outcome is
// unknown, and a write that may be repeated goes on until one succeeds.
func TestSync(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	d := mustOpen(t, address+"&pool_max_conns=2")
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		server.Configure(t, "synchronous_standby_names", "absent")
		done := make(chan error, 1)
		insert := func(keyed bool) { _, err := d.insert(t.Context(), end, keyed); done <- err }
		go insert(false)
		pgtest.EndSync(t, address, end)
		if err := <-done; err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("insert, %s: got error %v (%v), want Internal", end, err, fault.KindOf(err))
		}
		go insert(true)
		for range 4 { // the insert and three repeats
			pgtest.EndSync(t, address, end)
		}
		if len(done) > 0 {
			t.Fatalf("insert with a key, %s: got error %v, want no answer yet", end, <-done)
		}
		server.Configure(t, "synchronous_standby_names", "")
		if err := <-done; err != nil {
			t.Errorf("insert with a key, %s: got error %v, want success once nothing waits", end, err)
		}
	}
	d.mustCount(t, 4)

	// Waiting writes occupy all connections for writes, but reads go on.
	server.Configure(t, "synchronous_standby_names", "absent")
	kinds := make(chan fault.Kind, 3)
	ctx, cancel := context.WithTimeout(t.Context(), pgtest.RequestTimeout/2)
	defer cancel()
	for range cap(kinds) {
		go func() { _, err := d.insert(ctx, "", false); kinds <- fault.KindOf(err) }()
	}
	pgtest.Eventually(t, pgtest.RequestTimeout, "two waits", func() bool {
		return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 2
	})
	d.mustCount(t, 4)
	for i, want := range []fault.Kind{fault.Unavailable, fault.Internal, fault.Internal} { // the first to return got no connection
		if kind := <-kinds; kind != want {
			t.Errorf("write %d: got %v, want %v", i, kind, want)
		}
	}
}

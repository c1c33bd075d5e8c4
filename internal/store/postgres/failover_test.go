//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// TestFaultUnderLoad makes the primary fail while 16 clients create pets. The
// remaining server must hold every acknowledged pet exactly once.
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
			refused(t, standby.Address("postgres"), "the server is a standby")
			l := load(t, mustOpen(t, pgtest.Address("postgres", primary.Host(), standby.Host())))
			l.wait(t, time.Minute, 300)
			fault(t, primary)
			standby.Promote(t)
			l.wait(t, 30*time.Second, 1) // generous for all faults but a hang
			l.wait(t, time.Minute, 300)
			l.check(t, standby.Address("postgres"))
		})
	}
}

// ledger records the outcome of creates.
type ledger struct {
	acknowledged atomic.Int64
	ids          sync.Map // the identifier of each acknowledged name; 0 for a refused one

	ended   atomic.Bool
	clients sync.WaitGroup
}

// load creates pets from 16 clients until check is called. Every other client
// sends idempotency keys, and repeats a create until it succeeds.
func load(t *testing.T, s pets.Store) *ledger {
	l := &ledger{}
	for client := range 16 {
		l.clients.Go(func() {
			for n := 0; !l.ended.Load(); n++ {
				p, key := newPet(), pets.IdempotencyKey{}
				p.Name = fmt.Sprintf("pet %d of %d", n, client)
				if client%2 == 0 {
					key = pets.IdempotencyKey{KeyID: "mine", Key: p.Name}
				}
				for !l.create(t, s, p, key) {
				}
			}
		})
	}
	t.Cleanup(func() { l.ended.Store(true); l.clients.Wait() })
	return l
}

// create creates a pet once and records the outcome. It returns false if the
// client repeats the request.
func (l *ledger) create(t *testing.T, s pets.Store, p pets.NewPet, key pets.IdempotencyKey) bool {
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout)
	defer cancel()
	began := time.Now()
	made, err := s.CreatePet(ctx, p, key)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("CreatePet: got an answer after %v, want it within 10 s", took)
	}
	switch kind := fault.KindOf(err); {
	case err == nil:
		l.ids.Store(p.Name, made.ID)
		l.acknowledged.Add(1)
	case kind != fault.Unavailable && kind != fault.Internal:
		t.Errorf("CreatePet(%q): got error %v", p.Name, err)
	case !key.IsZero() && t.Context().Err() == nil:
		return false
	case kind == fault.Unavailable:
		l.ids.Store(p.Name, int64(0)) // nothing was done
	}
	return true
}

// wait waits until n more pets are acknowledged.
func (l *ledger) wait(t *testing.T, within time.Duration, n int64) {
	t.Helper()
	want := l.acknowledged.Load() + n
	pgtest.Eventually(t, within, fmt.Sprintf("%d more pets", n), func() bool { return l.acknowledged.Load() >= want })
}

// check stops the clients and compares the ledger with the database at address.
func (l *ledger) check(t *testing.T, address string) {
	t.Helper()
	l.ended.Store(true)
	l.clients.Wait()
	stored := pgtest.Query[map[string][]int64](t, address, "SELECT json_object_agg(name, ids) FROM (SELECT name, array_agg(id) AS ids FROM pets GROUP BY name) AS p")
	for name, ids := range stored {
		if len(ids) > 1 {
			t.Errorf("%s: got it more than once: %v", name, ids)
		}
	}
	for name, id := range l.ids.Range {
		if ids := stored[name.(string)]; id == int64(0) && ids != nil || id != int64(0) && !slices.Equal(ids, []int64{id.(int64)}) {
			t.Errorf("%s: got ids %v, want %d", name, ids, id)
		}
	}
}

// TestOutage checks that a create fails with Unavailable while the only server is down.
// The first after its death may have been sent, so its outcome may be unknown.
func TestOutage(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := mustOpen(t, server.Address("postgres"))
	var key pets.IdempotencyKey // none
	before := create(t.Context(), s, key)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), 2*requestTimeout)
	defer cancel()
	unknown, unavailable, ping := create(ctx, s, key), create(ctx, s, key), s.Ping(ctx)
	if ctx.Err() != nil {
		t.Errorf("got no answers before the end of their context")
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := create(short, s, once); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("CreatePet, cut off: got error %v, want the cause", err)
	}
	if before != nil || unknown == nil || ping != nil {
		t.Errorf("before: got error %v; after: got %v, want one; Ping in the first seconds: got %v", before, unknown, ping)
	}
	if fault.KindOf(unavailable) != fault.Unavailable || !strings.Contains(unavailable.Error(), "connection refused") {
		t.Errorf("CreatePet, again: got error %v (%v), want unavailable, with the cause", unavailable, fault.KindOf(unavailable))
	}
	server.Run(t)
	if err := create(t.Context(), s, key); err != nil {
		t.Errorf("CreatePet after the restart: got error %v", err)
	}
}

// TestDurability checks which settings Open refuses, and that the metrics tell the same.
func TestDurability(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	s := mustOpen(t, address)
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
				s, err := Open(t.Context(), address, db.Options{RequireSync: required})
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("Open, required %v: got error %v, want %q", required, err, want)
				}
				if err == nil {
					got := figures(t, s)
					if (got["postgres_sync_required"] == 1) != required || (got["postgres_sync"] == 1) != (c.required == "") {
						t.Errorf("the metrics, required %v: got %v", required, got)
					}
					_ = s.Close()
				}
			}
			server.Configure(t, "synchronous_standby_names", "")
			pgtest.Exec(t, address, "ALTER ROLE postgres RESET ALL", "ALTER DATABASE postgres RESET ALL")
		})
	}

	// The metric follows the server, and new connections are checked, too. Only those for
	// writes are refused.
	for _, c := range []struct {
		setting, value string
		want           float64
	}{{"synchronous_standby_names", "one", 1}, {"synchronous_commit", "local", 0}, {"synchronous_standby_names", "", 0}} {
		server.Configure(t, c.setting, c.value)
		pgtest.Eventually(t, 10*time.Second, "postgres_sync", func() bool { return figures(t, s)["postgres_sync"] == c.want })
	}
	s = mustOpen(t, address)
	pgtest.Exec(t, address, "ALTER ROLE postgres SET synchronous_commit = off")
	if err := create(t.Context(), s, pets.IdempotencyKey{}); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), off) {
		t.Errorf("CreatePet: got error %v, want Unavailable: %s", err, off)
	}
	if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
		t.Errorf("Pets: got error %v", err)
	}
	server.Kill()
	if got, told := figures(t, s)["postgres_sync"]; told {
		t.Errorf("postgres_sync without a server: got %v, want none", got)
	}
}

// figures returns the metrics of s by their names.
func figures(t *testing.T, s *Store) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(s)
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

// TestSync uses a server that waits for a standby that does not exist.
func TestSync(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	s := mustOpen(t, address+"&pool_max_conns=2")
	set := func(names string) { server.Configure(t, "synchronous_standby_names", names) }

	// If the wait for a standby is canceled, the server reports success although no
	// standby has the pet. The outcome is then unknown. A create with an idempotency
	// key goes on, and neither it nor its repeats may succeed.
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		set("absent")
		wait := func() {
			t.Helper()
			pgtest.Eventually(t, requestTimeout, "a wait for the standby", func() bool { return ended(t, address, end) })
		}
		done := make(chan error, 1)
		go func() { done <- create(t.Context(), s, pets.IdempotencyKey{}) }()
		wait()
		if err := <-done; err == nil || fault.KindOf(err) != fault.Internal {
			t.Errorf("CreatePet, %s: got error %v (%v), want Internal", end, err, fault.KindOf(err))
		}

		go func() { done <- create(t.Context(), s, pets.IdempotencyKey{Key: end}) }()
		for range 4 { // the insert and three repeats
			wait()
		}
		if len(done) > 0 {
			t.Fatalf("CreatePet with a key, %s: got error %v, want no answer yet", end, <-done)
		}
		set("")
		if err := <-done; err != nil {
			t.Errorf("CreatePet with a key, %s: got error %v, want the pet once nothing waits", end, err)
		}
	}
	if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 4 {
		t.Errorf("got %d pets, want 4", n)
	}

	// Waiting writes occupy all connections for writes, but reads go on.
	set("absent")
	kinds := make(chan fault.Kind, 3)
	ctx, cancel := context.WithTimeout(t.Context(), requestTimeout/2)
	defer cancel()
	for range cap(kinds) {
		go func() { kinds <- fault.KindOf(create(ctx, s, pets.IdempotencyKey{})) }()
	}
	pgtest.Eventually(t, requestTimeout, "two waits", func() bool {
		return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 2
	})
	if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
		t.Errorf("Pets: got error %v", err)
	}
	for i, want := range []fault.Kind{fault.Unavailable, fault.Internal, fault.Internal} { // the first to return got no connection
		if kind := <-kinds; kind != want {
			t.Errorf("write %d: got %v, want %v", i, kind, want)
		}
	}
}

// ended calls a function with the processes that wait for a standby, and reports
// whether there was one.
func ended(t *testing.T, address, function string) bool {
	return pgtest.Query[int](t, address, "SELECT count(*) FROM (SELECT "+function+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' OFFSET 0) ended") > 0
}

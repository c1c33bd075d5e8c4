//go:build postgres

package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// TestDurability checks which settings Open refuses, and that the metrics tell the same.
func TestDurability(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	s := open(t, address)
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
				s, err := postgres.Open(t.Context(), address, store.Options{RequireSync: required})
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
	s = open(t, address)
	pgtest.Exec(t, address, "ALTER ROLE postgres SET synchronous_commit = off")
	if _, err := s.CreatePet(t.Context(), newPet(), pets.IdempotencyKey{}); pets.KindOf(err) != pets.Unavailable || !strings.Contains(err.Error(), off) {
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
func figures(t *testing.T, s *postgres.Store) map[string]float64 {
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
	set := func(t *testing.T, names string) { server.Configure(t, "synchronous_standby_names", names) }
	// start opens a store on an empty database, then makes commits wait.
	start := func(t *testing.T, name, parameters string) (*postgres.Store, string) {
		set(t, "")
		pgtest.Exec(t, server.Address("postgres"), "CREATE DATABASE "+name)
		s := open(t, server.Address(name)+parameters)
		set(t, "absent")
		return s, server.Address(name)
	}

	// If the wait for a standby is canceled, the server reports success although no
	// standby has the pet. The outcome is then unknown. A create with an idempotency
	// key goes on, and neither it nor its repeats may succeed.
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(end, func(t *testing.T) {
			s, address := start(t, end, "")
			wait := func() {
				t.Helper()
				pgtest.Eventually(t, requestTimeout, "a wait for the standby", func() bool { return ended(t, address, end) })
			}
			done := make(chan error, 1)
			create := func(key pets.IdempotencyKey) {
				_, err := s.CreatePet(t.Context(), newPet(), key)
				done <- err
			}
			go create(pets.IdempotencyKey{})
			wait()
			if err := <-done; err == nil || pets.KindOf(err) != pets.Internal {
				t.Errorf("CreatePet: got error %v (%v), want Internal", err, pets.KindOf(err))
			}

			go create(once)
			for range 4 { // the insert and three repeats
				wait()
			}
			if len(done) > 0 {
				t.Fatalf("CreatePet with a key: got error %v, want no answer yet", <-done)
			}
			set(t, "")
			if err := <-done; err != nil {
				t.Errorf("CreatePet with a key: got error %v, want the pet once nothing waits", err)
			}
			if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 2 {
				t.Errorf("got %d pets, want 2", n)
			}
		})
	}

	// Waiting writes occupy all connections for writes, but reads go on.
	t.Run("reads", func(t *testing.T) {
		s, address := start(t, "reads", "&pool_max_conns=2")
		kinds := make(chan pets.Kind, 3)
		for range cap(kinds) {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), requestTimeout/2)
				defer cancel()
				_, err := s.CreatePet(ctx, newPet(), pets.IdempotencyKey{})
				kinds <- pets.KindOf(err)
			}()
		}
		pgtest.Eventually(t, requestTimeout, "two waits", func() bool {
			return pgtest.Query[int](t, address, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == 2
		})
		if err := s.Ping(t.Context()); err != nil { // reads
			t.Errorf("Ping: got error %v", err)
		}
		for i, want := range []pets.Kind{pets.Unavailable, pets.Internal, pets.Internal} { // the first to return got no connection
			if kind := <-kinds; kind != want {
				t.Errorf("write %d: got %v, want %v", i, kind, want)
			}
		}
	})
}

// ended calls a function with the processes that wait for a standby, and reports
// whether there was one.
func ended(t *testing.T, address, function string) bool {
	return pgtest.Query[int](t, address, "SELECT count(*) FROM (SELECT "+function+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' OFFSET 0) ended") > 0
}

//go:build postgres

package postgres_test

import (
	"context"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
)

// TestSync uses a server that waits for a standby that does not exist.
func TestSync(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
	set := func(t *testing.T, names string) { server.Configure(t, "synchronous_standby_names", names) }
	// start opens a store on an empty database, then makes commits wait.
	start := func(t *testing.T, name, parameters string) (*postgres.Store, string) {
		set(t, "")
		pgtest.Exec(t, server.Address("postgres"), "CREATE DATABASE "+name)
		s := open(t, server.Address(name)+parameters)
		set(t, "absent")
		return s, server.Address(name)
	}

	t.Run("RequireSync", func(t *testing.T) {
		for _, c := range []struct{ parameters, names, want string }{
			{"", "", "synchronous_standby_names is empty"},
			{"", "absent", "no synchronous standby is connected"},
			{"&synchronous_commit=local", "absent", "synchronous_commit is local"},
		} {
			set(t, c.names)
			_, err := postgres.Open(t.Context(), server.Address("postgres")+c.parameters, postgres.Options{RequireSync: true})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("names %q%s: got error %v, want one that says %q", c.names, c.parameters, err, c.want)
			}
		}
	})

	// If the wait for a standby is canceled, the server reports success although
	// no standby has the pet. Neither the create nor its retries may succeed.
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(end, func(t *testing.T) {
			s, address := start(t, end, "")
			rex := pets.NewPet{Name: "Rex", Status: pets.Sold, Idempotency: pets.Idempotency{KeyID: "mine", Key: "k1"}}
			done := make(chan error, 1)
			go func() {
				_, err := s.CreatePet(t.Context(), rex)
				done <- err
			}()
			for range 3 { // the insert and two repetitions
				pgtest.Eventually(t, requestTimeout, "a wait for the standby", func() bool {
					return pgtest.Query[int](t, address, "SELECT count(*) FROM (SELECT "+end+"(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep' OFFSET 0) ended") > 0
				})
			}
			pgtest.Eventually(t, requestTimeout, "another wait", func() bool { return pgtest.Query[int](t, address, waiting) > 0 })
			select {
			case err := <-done:
				t.Fatalf("CreatePet: got error %v, want no answer yet", err)
			default:
			}
			set(t, "")
			if err := <-done; err != nil {
				t.Errorf("CreatePet: got error %v, want the pet once nothing waits", err)
			}
			if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 1 {
				t.Errorf("got %d pets, want 1", n)
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
				_, err := s.CreatePet(ctx, pets.NewPet{Name: "Rex", Status: pets.Sold})
				kinds <- pets.KindOf(err)
			}()
		}
		pgtest.Eventually(t, requestTimeout, "two waits", func() bool { return pgtest.Query[int](t, address, waiting) == 2 })
		if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
			t.Errorf("Pets: got error %v", err)
		}
		if err := s.Ping(t.Context()); err != nil {
			t.Errorf("Ping: got error %v", err)
		}
		for i, want := range []pets.Kind{pets.Unavailable, pets.Internal, pets.Internal} { // the first to return got no connection
			if kind := <-kinds; kind != want {
				t.Errorf("write %d: got %v, want %v", i, kind, want)
			}
		}
	})
}

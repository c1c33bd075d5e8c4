//go:build postgres

package postgres_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
	"example.com/petstore/internal/store/storetest"
)

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	primary, standby := pgtest.Pair(t)
	here := primary.Address("postgres")
	pgtest.Exec(t, here, "CREATE USER pets", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "CREATE DATABASE newer")
	open(t, primary.Address("newer"))
	pgtest.Exec(t, primary.Address("newer"), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)")
	asPets := strings.Replace(here, "postgres@", "pets:hunter2@", 1)
	for address, want := range map[string]string{
		"postgres://pets:hunter2@127.0.0.1:1,127.0.0.1:2/pets": "no writable primary can be reached",
		"postgres://pets:hunter2@/pets?host=/nowhere":          "no writable primary can be reached",
		standby.Address("postgres"):                            "no writable primary can be reached",
		primary.Address("absent"):                              `database "absent" does not exist; create it with createdb`,
		primary.Address("latin"):                               "its encoding is LATIN1 and not UTF8",
		primary.Address("newer"):                               "its schema is at version 99 and this program knows versions up to 2; run a newer petstore",
		here + "&nonsense=1":                                   `unrecognized configuration parameter "nonsense"`,
		asPets:                                                 "permission denied for schema public; make the user the owner",
	} {
		s, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: got a store, want an error", address)
		} else if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
			t.Errorf("%s: got error %q, want one line that says %q", address, text, want)
		}
	}
	open(t, pgtest.Address("postgres", standby.Host(), primary.Host())) // the standby is passed over
}

func TestRequireSync(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	address := server.Address("postgres")
	for _, c := range []struct{ parameters, names, want string }{
		{"", "", "synchronous_standby_names is empty"},
		{"", "absent", "no synchronous standby streams"},
		{"&synchronous_commit=local", "absent", "synchronous_commit is local"},
	} {
		server.Configure(t, "synchronous_standby_names", c.names)
		_, err := postgres.Open(t.Context(), address+c.parameters, postgres.Options{RequireSync: true})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("names %q%s: got error %v, want one that says %q", c.names, c.parameters, err, c.want)
		}
	}
}

// TestMigrateConcurrently opens an empty database by eight stores at once,
// directly and through a PgBouncer with few connections.
func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	pooler := pgtest.Shared(t).Pooler(t, "default_pool_size = 3")
	for name, hosts := range map[string][2]string{"direct": {}, "PgBouncer": {pgtest.Shared(t).Host(), pooler.Host()}} {
		t.Run(name, func(t *testing.T) {
			direct := pgtest.Database(t)
			address := strings.Replace(direct, hosts[0], hosts[1], 1)
			var stores sync.WaitGroup
			for range 8 {
				stores.Go(func() {
					s, err := postgres.Open(t.Context(), address, postgres.Options{})
					if err != nil {
						t.Errorf("Open: got error %v", err)
						return
					}
					defer s.Close()
					if _, err := s.CreatePet(t.Context(), pets.NewPet{Name: "Rex", Status: pets.Sold}); err != nil {
						t.Errorf("CreatePet: got error %v", err)
					}
				})
			}
			stores.Wait()
			if n := pgtest.Query[int](t, direct, "SELECT count(*) FROM goose_db_version WHERE version_id > 0"); n != 1 {
				t.Errorf("got %d migrations applied, want 1", n)
			}
			if n := pgtest.Query[int](t, direct, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n != 0 {
				t.Errorf("got %d advisory locks left, want none", n)
			}
		})
	}
}

func TestPgBouncer(t *testing.T) {
	t.Parallel()
	direct := pgtest.Shared(t)
	pooler := direct.Pooler(t)
	storetest.Run(t, factory(func(t testing.TB) string {
		return strings.Replace(pgtest.Database(t), direct.Host(), pooler.Host(), 1)
	}))
}

// TestPingNotReady wants a store not ready if the database refuses its statements.
func TestPingNotReady(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	s := open(t, address)
	for _, c := range []struct {
		rename string
		want   pets.Kind
	}{{"pets RENAME TO animals", pets.Unavailable}, {"animals RENAME TO pets", pets.Internal}} {
		pgtest.Exec(t, address, "ALTER TABLE "+c.rename)
		if err := s.Ping(t.Context()); pets.KindOf(err) != c.want || (err == nil) != (c.want == pets.Internal) {
			t.Errorf("Ping after %s: got error %v", c.rename, err)
		}
	}
}

// TestCancelledWait cancels the wait for a standby, after which the server
// reports success although no standby has the pet. Neither the create nor its
// repetitions may be acknowledged.
func TestCancelledWait(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			server := pgtest.Start(t)
			address := server.Address("postgres")
			s := open(t, address)
			server.Configure(t, "synchronous_standby_names", "absent")
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
			pgtest.Eventually(t, requestTimeout, "another wait", func() bool {
				return pgtest.Query[bool](t, address, "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')")
			})
			select {
			case err := <-done:
				t.Fatalf("CreatePet: got error %v, want no answer yet", err)
			default:
			}
			if err := s.Ping(t.Context()); err != nil {
				t.Errorf("Ping while a write waits: got error %v", err)
			}
			server.Configure(t, "synchronous_standby_names", "")
			if err := <-done; err != nil {
				t.Errorf("CreatePet: got error %v, want the pet once nothing waits", err)
			}
			if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 1 {
				t.Errorf("got %d pets, want 1", n)
			}
		})
	}
}

// TestWaitingWrites wants writes that wait for a standby to keep their
// connections only, and reads to go on.
func TestWaitingWrites(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	s := open(t, server.Address("postgres")+"&pool_max_conns=2")
	server.Configure(t, "synchronous_standby_names", "absent")
	kinds := make(chan pets.Kind, 3)
	for range cap(kinds) {
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), requestTimeout/2)
			defer cancel()
			_, err := s.CreatePet(ctx, pets.NewPet{Name: "Rex", Status: pets.Sold})
			kinds <- pets.KindOf(err)
		}()
	}
	if kind := <-kinds; kind != pets.Unavailable {
		t.Errorf("the write without a connection: got %v, want unavailable", kind)
	}
	if _, err := s.Pets(t.Context(), pets.Query{Limit: 1}); err != nil {
		t.Errorf("Pets: got error %v", err)
	}
	for range 2 {
		if kind := <-kinds; kind != pets.Internal {
			t.Errorf("a write that waits: got %v, want internal, since its outcome is unknown", kind)
		}
	}
}

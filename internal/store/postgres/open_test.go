//go:build postgres

package postgres_test

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/postgres"
	"example.com/petstore/internal/store/postgres/pgtest"
	"example.com/petstore/internal/store/storetest"
)

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // not shared, because the role and the databases have fixed names
	here := server.Address("postgres")
	pgtest.Exec(t, here, "CREATE USER pets", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "CREATE DATABASE newer")
	open(t, server.Address("newer"))
	pgtest.Exec(t, server.Address("newer"), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)")
	asPets := strings.Replace(here, "postgres@", "pets:hunter2@", 1)
	for address, want := range map[string]string{
		"postgres://pets:hunter2@127.0.0.1:1,127.0.0.1:2/pets": "no writable primary can be reached",
		"postgres://pets:hunter2@/pets?host=/nowhere":          "no writable primary can be reached",
		server.Address("absent"):                               `database "absent" does not exist`,
		server.Address("latin"):                                "the encoding of the database is not UTF8 but LATIN1",
		server.Address("newer"):                                "its schema is newer than this program: version 99, not 1",
		here + "&nonsense=1":                                   `unrecognized configuration parameter "nonsense"`,
		asPets:                                                 "permission denied for schema public",
	} {
		s, err := postgres.Open(t.Context(), address, postgres.Options{})
		if err == nil {
			_ = s.Close()
			t.Errorf("%s: got a store, want an error", address)
		} else if text := err.Error(); !strings.Contains(text, want) || strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
			t.Errorf("%s: got error %q, want one line that says %q", address, text, want)
		}
	}
}

// TestLeastPrivilege serves as the role that the page creates, once the owner has
// brought the schema up to date.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // not shared, because the role has a fixed name
	owner := server.Address("postgres")
	address := strings.Replace(owner, "postgres@", "petstore_serve@", 1)
	refused := func() {
		t.Helper()
		if s, err := postgres.Open(t.Context(), address, postgres.Options{}); !errors.Is(err, postgres.ErrMayNotMigrate) {
			t.Errorf("Open: got %v, error %v, want ErrMayNotMigrate", s, err)
		}
	}
	migrated := open(t, owner)
	grants := pgtest.Page(t, "GRANT")
	pgtest.Exec(t, owner, grants[0])
	refused()
	pgtest.Exec(t, owner, grants[1:]...)
	if err := migrated.CreateKey(t.Context(), keys.Key{ID: "mine", Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	s, key := open(t, address), pets.IdempotencyKey{KeyID: "mine", Key: "k1"}
	for _, key := range []pets.IdempotencyKey{{}, key, key} {
		if _, err := s.CreatePet(t.Context(), newPet(), key); err != nil {
			t.Errorf("CreatePet: got error %v", err)
		}
	}
	if page, err := s.Pets(t.Context(), pets.Query{Limit: 10}); err != nil || len(page.Pets) != 2 {
		t.Errorf("Pets: got %v, error %v, want 2 pets", page, err)
	}
	if _, err := s.Key(t.Context(), "mine"); err != nil {
		t.Errorf("Key: got error %v", err)
	}
	if err := s.RecordKeyUse(t.Context(), map[string]time.Time{"mine": time.Now()}); err != nil {
		t.Errorf("RecordKeyUse: got error %v", err)
	}
	pgtest.Exec(t, address, "DELETE FROM idempotency_keys")
	statements := []string{"INSERT INTO keys (id) VALUES ('other')", "DELETE FROM keys", "UPDATE pets SET name = ''", "DELETE FROM pets"}
	columns := pgtest.Query[[]string](t, owner, "SELECT array_agg(attname::text) FROM pg_attribute WHERE attrelid = 'keys'::regclass AND attnum > 0 AND attname <> 'used_at'")
	for _, column := range columns {
		statements = append(statements, "UPDATE keys SET "+column+" = DEFAULT")
	}
	role, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer role.Close(t.Context())
	for _, statement := range statements {
		_, err := role.Exec(t.Context(), statement)
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "42501" {
			t.Errorf("%s: got error %v, want permission denied", statement, err)
		}
	}
	pgtest.Exec(t, owner, "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)")
	refused()
}

// TestNoStore checks that nothing is created where there must be a store.
func TestNoStore(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	for range 2 {
		_, readErr := postgres.OpenReader(t.Context(), address)
		_, err := postgres.Open(t.Context(), address, postgres.Options{MustExist: true})
		if !errors.Is(err, store.ErrNoStore) || !errors.Is(readErr, store.ErrNoStore) {
			t.Errorf("Open and OpenReader: got errors %v and %v, want ErrNoStore", err, readErr)
		}
	}
	open(t, address)
	r, err := postgres.OpenReader(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if all, err := r.Keys(t.Context()); err != nil || len(all) > 0 {
		t.Errorf("Keys: got %v, error %v", all, err)
	}
	pgtest.Exec(t, address, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)")
	if _, err := postgres.OpenReader(t.Context(), address); !errors.Is(err, store.ErrNewer) {
		t.Errorf("OpenReader: got error %v, want ErrNewer", err)
	}
}

// TestHiddenStore puts a schema with the user's name before that of a store.
func TestHiddenStore(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	s := open(t, address)
	var made []pets.Pet
	create := func() {
		t.Helper()
		for _, key := range []pets.IdempotencyKey{{KeyID: "mine", Key: fmt.Sprint(len(made))}, {}} {
			p, err := s.CreatePet(t.Context(), newPet(), key)
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, p)
		}
		if page, err := s.Pets(t.Context(), pets.Query{Limit: 100}); err != nil || !reflect.DeepEqual(page.Pets, made) {
			t.Errorf("Pets: got %v, error %v, want %v", page.Pets, err, made)
		}
	}
	refused := func() {
		t.Helper()
		_, openErr := postgres.Open(t.Context(), address, postgres.Options{})
		_, readErr := postgres.OpenReader(t.Context(), address)
		_, _, migrateErr := postgres.Migrate(t.Context(), address, 0, slog.New(slog.DiscardHandler))
		for _, err := range []error{openErr, readErr, migrateErr} {
			if err == nil || !strings.Contains(err.Error(), `the schema "postgres" is before "public"`) {
				t.Errorf("got error %v, want one that names both schemas", err)
			}
		}
	}
	create()
	pgtest.Exec(t, address, "CREATE SCHEMA postgres", "CREATE TABLE postgres.goose_db_version (id int)", "CREATE TABLE postgres.pets (id int)")
	create()
	refused()
	pgtest.Exec(t, address, "DROP SCHEMA postgres CASCADE", "CREATE SCHEMA postgres")
	open(t, address+"&search_path=postgres")
	create()
	pgtest.Exec(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'")
	refused()
	create()
	s = open(t, address+"&search_path=public")
	create()
}

// TestTooManyConnections writes after reads have taken all the connections that a role may
// have, and reads after that.
func TestTooManyConnections(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // not shared, because the role has a fixed name
	pgtest.Exec(t, server.Address("postgres"), "CREATE ROLE few LOGIN CONNECTION LIMIT 4", "CREATE SCHEMA few AUTHORIZATION few")
	s := open(t, strings.Replace(server.Address("postgres"), "postgres@", "few@", 1))
	list := func() error {
		_, err := s.Pets(t.Context(), pets.Query{Limit: 1})
		return err
	}
	create := func() error {
		_, err := s.CreatePet(t.Context(), newPet(), pets.IdempotencyKey{})
		return err
	}
	for _, call := range []func() error{list, create, list} {
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				if err := call(); err != nil {
					t.Errorf("got error %v", err)
				}
			})
		}
		clients.Wait()
	}
}

// TestOperatorFaults checks that errors which only the operator can mend are no outage, and
// say what to mend.
func TestOperatorFaults(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	s, key := open(t, address), pets.IdempotencyKey{KeyID: "mine", Key: "k1"}
	internal := func(what string, err error, want string) {
		t.Helper()
		if err == nil || pets.KindOf(err) != pets.Internal || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v (%v), want Internal with %q", what, err, pets.KindOf(err), want)
		}
	}
	pgtest.Exec(t, address, "INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE SELECT n, 'Rex', 1, 'sold' FROM generate_series(1, 2) n")
	for _, key := range []pets.IdempotencyKey{{}, key} {
		_, err := s.CreatePet(t.Context(), newPet(), key)
		internal("CreatePet with an identifier that is taken", err, "setval")
	}
	if p, err := s.CreatePet(t.Context(), newPet(), key); err != nil || p.ID != 3 {
		t.Errorf("CreatePet, then: got %v, error %v, want the id 3", p, err)
	}
	if err := s.CreateKey(t.Context(), keys.Key{ID: "mine", Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"exec", "simple_protocol"} {
		_, err := open(t, address+"&bytea_output=escape&default_query_exec_mode="+mode).Key(t.Context(), "mine")
		internal("Key with another format of bytea", err, "hash")
	}
}

// TestMigrateConcurrently opens eight stores at once on an empty database,
// directly and through a PgBouncer with few connections.
func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	pooler := pgtest.Shared(t).Pooler(t)
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
					if _, err := s.CreatePet(t.Context(), newPet(), pets.IdempotencyKey{}); err != nil {
						t.Errorf("CreatePet: got error %v", err)
					}
				})
			}
			stores.Wait()
			if n := pgtest.Query[int](t, direct, "SELECT count(*) - count(DISTINCT version_id) FROM goose_db_version"); n != 0 {
				t.Errorf("got %d migrations applied again, want none", n)
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

//go:build postgres

package postgres_test

import (
	"crypto/rand"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

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
	here, newer := server.Address("postgres"), server.Address("newer")
	pgtest.Exec(t, here, "CREATE USER pets", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "CREATE DATABASE newer")
	open(t, newer)
	pgtest.Exec(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)")
	for address, want := range map[string]string{
		"postgres://pets:hunter2@127.0.0.1:1,127.0.0.1:2/pets": "no writable primary can be reached",
		"postgres://pets:hunter2@/pets?host=/nowhere":          "no writable primary can be reached",
		server.Address("absent"):                               `database "absent" does not exist`,
		server.Address("latin"):                                "the encoding of the database is not UTF8 but LATIN1",
		newer:                                                  "its schema is newer than this program: version 99, not 1",
		here + "&nonsense=1":                                   `unrecognized configuration parameter "nonsense"`,
	} {
		refused(t, address, want)
	}
	_, err := postgres.Open(t.Context(), strings.Replace(here, "postgres@", "pets@", 1), store.Options{})
	if want := "permission denied for schema public"; !errors.Is(err, postgres.ErrMayNotMigrate) || !strings.Contains(err.Error(), want) {
		t.Errorf("Open of an empty database by its user: got error %v, want %q", err, want)
	}
}

// TestLeastPrivilege serves as the role that the page creates, once the owner has
// brought the schema up to date.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // not shared, because the role has a fixed name
	owner := server.Address("postgres")
	address := strings.Replace(owner, "postgres@", "petstore_serve@", 1)
	migrated := open(t, owner)
	grants := pgtest.Page(t, "GRANT")
	pgtest.Exec(t, owner, grants[0])
	refused(t, address, postgres.ErrMayNotMigrate.Error())
	pgtest.Exec(t, owner, grants[1:]...)
	if err := migrated.CreateKey(t.Context(), keys.Key{ID: "mine", Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	s := open(t, address)
	for _, key := range []pets.IdempotencyKey{{}, once, once} {
		mustCreate(t, s, key)
	}
	page, petsErr := s.Pets(t.Context(), pets.Query{Limit: 10})
	_, keyErr := s.Key(t.Context(), "mine")
	useErr := s.RecordKeyUse(t.Context(), map[string]time.Time{"mine": time.Now()})
	n, forgetErr := s.ForgetIdempotencyKeys(t.Context(), time.Now().Add(time.Hour))
	if err := errors.Join(petsErr, keyErr, useErr, forgetErr); err != nil || len(page.Pets) != 2 || n != 1 {
		t.Errorf("got %v, %d keys forgotten, error %v, want 2 pets and 1 key", page, n, err)
	}
	const may = `SELECT string_agg(DISTINCT privilege_type || ' ' || table_name || CASE privilege_type WHEN 'UPDATE' THEN '.' || column_name ELSE '' END, ', ')
FROM (SELECT table_name, NULL AS column_name, privilege_type FROM information_schema.table_privileges WHERE grantee = $1
UNION SELECT table_name, column_name, privilege_type FROM information_schema.column_privileges WHERE grantee = $1) granted`
	const want = "DELETE idempotency_keys, INSERT idempotency_keys, INSERT pets, SELECT goose_db_version, SELECT idempotency_keys, SELECT keys, SELECT pets, UPDATE keys.used_at"
	if got := pgtest.Query[string](t, owner, may, "petstore_serve"); got != want {
		t.Errorf("the role may %s, want %s", got, want)
	}
	pgtest.Exec(t, owner, "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)")
	if _, err := postgres.Open(t.Context(), address, store.Options{}); !errors.Is(err, postgres.ErrMayNotMigrate) {
		t.Errorf("Open of an older schema: got error %v, want ErrMayNotMigrate", err)
	}
}

// TestNoStore checks that nothing is created where there must be a store.
func TestNoStore(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	for range 2 {
		_, readErr := postgres.OpenReader(t.Context(), address)
		_, err := postgres.Open(t.Context(), address, store.Options{MustExist: true})
		if !errors.Is(err, store.ErrNoStore) || !errors.Is(readErr, store.ErrNoStore) {
			t.Errorf("Open and OpenReader: got errors %v and %v, want ErrNoStore", err, readErr)
		}
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
		made = append(made, mustCreate(t, s, pets.IdempotencyKey{Key: rand.Text()}), mustCreate(t, s, pets.IdempotencyKey{}))
		if page, err := s.Pets(t.Context(), pets.Query{Limit: 100}); err != nil || !reflect.DeepEqual(page.Pets, made) {
			t.Fatalf("got %v, error %v, want %v", page.Pets, err, made)
		}
	}
	hidden := func() {
		t.Helper()
		refused(t, address, `the schema "postgres" is before "public"`)
	}
	create()
	pgtest.Exec(t, address, "CREATE SCHEMA postgres", "CREATE TABLE postgres.goose_db_version (id int)", "CREATE TABLE postgres.pets (id int)")
	create()
	hidden()
	pgtest.Exec(t, address, "DROP SCHEMA postgres CASCADE", "CREATE SCHEMA postgres")
	open(t, address+"&search_path=postgres")
	create()
	pgtest.Exec(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'")
	hidden()
	create()
	s = open(t, address+"&search_path=public")
	create()
}

// TestMigrateConcurrently opens eight stores at once on an empty database,
// directly and through a PgBouncer with few connections.
func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t)
	for name, through := range map[string]*pgtest.Server{"direct": server, "PgBouncer": server.Pooler(t)} {
		t.Run(name, func(t *testing.T) {
			direct := pgtest.Database(t)
			address := strings.Replace(direct, server.Host(), through.Host(), 1)
			var stores sync.WaitGroup
			for range 8 {
				stores.Go(func() {
					s, err := postgres.Open(t.Context(), address, store.Options{})
					if err == nil {
						err = create(t.Context(), s, pets.IdempotencyKey{})
						_ = s.Close()
					}
					if err != nil {
						t.Errorf("got error %v", err)
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

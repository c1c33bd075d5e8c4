//go:build postgres

package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store/postgres/pgtest"
	"example.com/petstore/internal/store/storetest"
)

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // not shared, because the databases have fixed names
	here, newer, foreign := server.Address("postgres"), server.Address("newer"), server.Address("foreign")
	pgtest.Exec(t, here, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "CREATE DATABASE newer")
	s := mustOpen(t, newer)
	pgtest.Exec(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)")
	_ = s.Close()
	pgtest.Exec(t, here, `CREATE DATABASE "foreign" TEMPLATE newer`)
	pgtest.Exec(t, foreign, "DROP TABLE pets")
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
	if _, err := Open(t.Context(), foreign, db.Options{}); err == nil || !strings.Contains(err.Error(), "is another program's") {
		t.Errorf("Open of another program's tables: got error %v", err)
	}
	server.Hang()
	refused(t, here, "set connect_timeout=SECONDS in the address")
}

// TestLeastPrivilege serves as the role that the page creates, once the owner has
// brought the schema up to date.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t) // not shared, because the role has a fixed name
	owner := server.Address("postgres")
	address := strings.Replace(owner, "postgres@", "petstore_serve@", 1)
	migrated := mustOpen(t, owner)
	grants := pgtest.Page(t, "GRANT")
	pgtest.Exec(t, owner, grants[0])
	refused(t, address, db.ErrMayNotMigrate.Error()+": permission denied for table goose_db_version")
	pgtest.Exec(t, owner, grants[1:]...)
	if err := migrated.CreateKey(t.Context(), keys.Key{ID: "mine", Name: "mine"}); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, address)
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
	if _, err := Open(t.Context(), address, db.Options{}); !errors.Is(err, db.ErrMayNotMigrate) {
		t.Errorf("Open of an older schema: got error %v, want db.ErrMayNotMigrate", err)
	}
}

// TestHiddenStore puts a schema with the user's name before that of a store.
func TestHiddenStore(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	s := mustOpen(t, address)
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
	mustOpen(t, address+"&search_path=public,postgres")
	pgtest.Exec(t, address, "DROP SCHEMA postgres CASCADE", "CREATE SCHEMA postgres")
	mustOpen(t, address+"&search_path=postgres")
	create()
	pgtest.Exec(t, address, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'")
	hidden()
	create()
	s = mustOpen(t, address+"&search_path=public")
	create()
}

// TestMigrate goes up with one more migration, which takes longer than the server allows a
// statement, and a transaction to be idle. Nothing was created before where
// there must be a store.
func TestMigrate(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	conn := connect(t, address+"&idle_in_transaction_session_timeout=10&statement_timeout=1000")
	first, err := fs.ReadFile(migrations, "00001_schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{
		"00001_schema.sql": {Data: first},
		"00002_age.sql":    {Data: []byte("-- +goose Up\nALTER TABLE pets ADD age int;\nSELECT pg_sleep(1.1);\n")},
	}
	_, readErr := OpenReader(t.Context(), address)
	_, err = Open(t.Context(), address, db.Options{MustExist: true})
	if !errors.Is(err, db.ErrNone) || !errors.Is(readErr, db.ErrNone) {
		t.Errorf("Open and OpenReader of no store: got errors %v and %v, want ErrNoStore", err, readErr)
	}
	for _, c := range []struct {
		files    fs.FS
		from, to int64
	}{{migrations, 0, 1}, {files, 1, 2}, {files, 2, 2}} {
		from, to, err := migrate(t.Context(), conn, c.files, lockWait, slog.New(slog.DiscardHandler))
		if from != c.from || to != c.to || err != nil {
			t.Fatalf("migrate: got from %d to %d, error %v, want from %d to %d", from, to, err, c.from, c.to)
		}
		pgtest.Exec(t, address, "INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'sold')")
	}
	if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets"); n != 3 {
		t.Errorf("got %d pets, want 3", n)
	}
}

// TestMigrateLocked waits for a lock that another session keeps, and is interrupted.
func TestMigrateLocked(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	holder := connect(t, address+"&application_name=holder")
	lock := func(function string) {
		t.Helper()
		if _, err := holder.Exec(t.Context(), "SELECT "+function+"($1)", migrateLock); err != nil {
			t.Fatal(err)
		}
	}
	lock("pg_advisory_lock")
	var log strings.Builder
	process := fmt.Sprintf("process %d (holder of postgres at 127.0.0.1", holder.PgConn().PID())
	_, _, err := migrate(t.Context(), connect(t, address), migrations, lockNotice+time.Second, slog.New(slog.NewTextHandler(&log, nil)))
	if err == nil || !strings.Contains(err.Error(), process) || strings.Count(log.String(), process) != 1 {
		t.Errorf("migrate: got error %v and the log %s, want %q in both", err, &log, process)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = look(interrupted, holder)
	if err := explainOpen(address, err); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "connect_timeout") {
		t.Errorf("interrupted: got error %v, want one without advice about the network", err)
	}
	lock("pg_advisory_unlock")
	for _, from := range []int64{0, 1} { // if the schema is current, the lock is not needed
		got, to, err := Migrate(t.Context(), address, slog.New(slog.DiscardHandler))
		if err != nil || got != from || to != 1 {
			t.Errorf("Migrate: got from %d to %d, error %v, want from %d to 1", got, to, err, from)
		}
		lock("pg_advisory_lock")
	}
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
					s, err := Open(t.Context(), address, db.Options{})
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

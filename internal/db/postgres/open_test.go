//go:build postgres

package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/db/postgres/pgtest"
	"example.com/petstore/internal/fault"
)

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	here, newer, denied := server.Address("postgres"), server.Address("newer"), server.Address("denied")
	pgtest.Exec(t, here, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "CREATE DATABASE newer", "CREATE DATABASE denied", "CREATE ROLE ann LOGIN")
	_ = mustOpen(t, newer).Close()
	pgtest.Exec(t, newer, "INSERT INTO notebook.goose_db_version (version_id, is_applied) VALUES (99, true)")
	for address, want := range map[string]string{
		"postgres://ann:hunter2@127.0.0.1:1,127.0.0.1:2/notes": "no writable primary can be reached",
		"postgres://ann:hunter2@/notes?host=/nowhere":          "no writable primary can be reached",
		server.Address("absent"):                               `database "absent" does not exist`,
		server.Address("latin"):                                "the encoding of the database is not UTF8 but LATIN1",
		newer:                                                  "its schema is newer than this program: version 99, not 1",
		here + "&nonsense=1":                                   `unrecognized configuration parameter "nonsense"`,
	} {
		refused(t, address, want)
	}
	if _, err := Open(t.Context(), strings.Replace(denied, "postgres@", "ann@", 1), notebook, db.Options{}); !errors.Is(err, db.ErrMayNotMigrate) {
		t.Errorf("Open as a user without privileges: got error %v, want db.ErrMayNotMigrate", err)
	}
	server.Hang()
	refused(t, here, "set connect_timeout=SECONDS in the address")
}

// TestSettings opens databases as a role whose settings and limits are not the default.
func TestSettings(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	owner := server.Address("postgres")
	address := strings.Replace(owner, "postgres@", "ann@", 1)
	pgtest.Exec(t, owner, "CREATE ROLE ann LOGIN", "CREATE SCHEMA notebook AUTHORIZATION ann", // who may create no other
		"ALTER ROLE ann SET DateStyle = 'German'", "ALTER ROLE ann SET client_encoding = 'EUC_JP'")
	d := mustOpen(t, address+"&default_query_exec_mode=exec")
	d.mustInsert(t)
	d.mustCount(t, 1)
	err := d.Read(t.Context(), func(ctx context.Context, c *pgx.Conn) error {
		var now time.Time
		return c.QueryRow(ctx, "SELECT now()").Scan(&now)
	})
	if err != nil {
		t.Errorf("a time: got error %v", err)
	}
	const settings = "SELECT application_name FROM pg_stat_activity WHERE usename = 'ann' LIMIT 1"
	if got := pgtest.Query[string](t, owner, settings); got != "notebook" {
		t.Errorf("got the name %q in the server's views, want notebook", got)
	}
	_ = d.Close()

	// Reads and writes take turns with the only connection.
	d = mustOpen(t, address)
	pgtest.Exec(t, owner, "ALTER ROLE ann CONNECTION LIMIT 1")
	for i := range 2 {
		d.mustCount(t, 1+i)
		d.mustInsert(t)
	}
	pgtest.Exec(t, owner, "ALTER SCHEMA notebook RENAME TO gone")
	if err := d.Ping(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("Ping without the schema: got error %v, want Unavailable", err)
	}
}

// TestPassword changes the password of a role and then the file that has it.
func TestPassword(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	owner, file := server.Address("postgres"), filepath.Join(t.TempDir(), "pgpass")
	change := func(password string) {
		pgtest.Exec(t, owner, "ALTER ROLE ann PASSWORD '"+password+"'")
		if err := os.WriteFile(file, []byte("*:*:*:ann:"+password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pgtest.Exec(t, owner, "CREATE ROLE ann LOGIN SUPERUSER",
		"DO $$ BEGIN EXECUTE format('COPY (VALUES (''host all postgres 127.0.0.1/32 trust''), (''host all all 127.0.0.1/32 scram-sha-256'')) TO %L', current_setting('hba_file')); END $$",
		"SELECT pg_reload_conf()")
	change("first")
	d := mustOpen(t, strings.Replace(owner, "postgres@", "ann@", 1)+"&passfile="+file)
	d.mustInsert(t)
	change("second")
	pgtest.Exec(t, owner, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'")
	if _, err := d.insert(t.Context(), "Call Bob", true); err != nil {
		t.Errorf("insert after the change: got error %v", err)
	}
	d.mustCount(t, 2)
}

// TestMigrate goes up with one more migration, which takes longer than the server allows a
// statement, and a transaction to be idle.
func TestMigrate(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Database(t)
	second := Schema{notebook.Name, maps.Clone(notebook.Migrations.(fstest.MapFS))}
	second.Migrations.(fstest.MapFS)["00002_stars.sql"] = &fstest.MapFile{
		Data: []byte("-- +goose Up\nALTER TABLE notebook.notes ADD stars int;\nSELECT pg_sleep(1.1);\n"),
	}
	refuses := func(schema Schema, want error) {
		t.Helper()
		if _, err := OpenReader(t.Context(), address, schema); !errors.Is(err, want) {
			t.Errorf("OpenReader: got error %v, want %v", err, want)
		}
	}
	if _, err := Open(t.Context(), address, notebook, db.Options{MustExist: true}); !errors.Is(err, db.ErrNone) {
		t.Errorf("Open of what must exist: got error %v, want db.ErrNone", err)
	}
	refuses(notebook, db.ErrNone)
	for _, c := range []struct {
		schema   Schema
		from, to int64
	}{{notebook, 0, 1}, {second, 1, 2}, {second, 2, 2}} {
		from, to, err := Migrate(t.Context(), address+"&idle_in_transaction_session_timeout=10&statement_timeout=1000", c.schema, slog.New(slog.DiscardHandler))
		if from != c.from || to != c.to || err != nil {
			t.Fatalf("Migrate: got from %d to %d, error %v, want from %d to %d", from, to, err, c.from, c.to)
		}
		pgtest.Exec(t, address, "INSERT INTO notebook.notes (text) VALUES ('Call Ann')")
	}
	refuses(notebook, db.ErrNewer)
	pgtest.Exec(t, address, "DELETE FROM notebook.goose_db_version WHERE version_id = 2")
	refuses(second, db.ErrOutdated)
	mustOpen(t, address).mustCount(t, 3)
}

// TestMigrateLocked waits for a lock that another session keeps, and is interrupted.
func TestMigrateLocked(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Database(t)
	holder, err := pgx.Connect(t.Context(), address+"&application_name=holder")
	if err != nil {
		t.Fatal(err)
	}
	defer disconnect(holder)
	lock := func(function string) {
		t.Helper()
		if _, err := holder.Exec(t.Context(), "SELECT "+function+"("+lockKey+")", notebook.Name); err != nil {
			t.Fatal(err)
		}
	}
	lock("pg_advisory_lock")
	var log strings.Builder
	process := fmt.Sprintf("process %d (holder of postgres at 127.0.0.1", holder.PgConn().PID())
	_, err = connect(t.Context(), address, notebook, true, func(conn *pgx.Conn, _ session) error {
		_, _, err := migrate(t.Context(), conn, notebook, false, lockNotice+time.Second, slog.New(slog.NewTextHandler(&log, nil)))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), process) || strings.Count(log.String(), process) != 1 {
		t.Errorf("migrate: got error %v and the log %s, want %q in both", err, &log, process)
	}
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = notebook.version(interrupted, holder)
	if err := explainOpen(address, err); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "connect_timeout") {
		t.Errorf("interrupted: got error %v, want one without advice about the network", err)
	}
	lock("pg_advisory_unlock")
	mustOpen(t, address)
	lock("pg_advisory_lock")
	mustOpen(t, address) // if the schema is current, the lock is not needed
}

// TestMigrateConcurrently opens eight stores at once on an empty database,
// directly and through a PgBouncer with few connections.
func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	for name, through := range map[string]*pgtest.Server{"direct": server, "PgBouncer": server.Pooler(t)} {
		t.Run(name, func(t *testing.T) {
			direct := server.Database(t)
			address := strings.Replace(direct, server.Host(), through.Host(), 1)
			var opened sync.WaitGroup
			for range 8 {
				opened.Go(func() {
					d, err := Open(t.Context(), address, notebook, db.Options{})
					if err == nil {
						_, err = d.insert(t.Context(), "Call Ann", false)
						_ = d.Close()
					}
					if err != nil {
						t.Errorf("got error %v", err)
					}
				})
			}
			opened.Wait()
			mustOpen(t, address).mustCount(t, 8)
			if n := pgtest.Query[int](t, direct, "SELECT count(*) - count(DISTINCT version_id) FROM notebook.goose_db_version"); n != 0 {
				t.Errorf("got %d migrations applied again, want none", n)
			}
		})
	}
}

const createNotes = `-- +goose Up
CREATE TABLE notebook.notes (
	id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	text text NOT NULL,
	key  text UNIQUE
);`

// notebook is the schema of the tests.
var notebook = Schema{Name: "notebook", Migrations: fstest.MapFS{"00001_notes.sql": {Data: []byte(createNotes)}}}

// insert inserts a note.
func (d *DB) insert(ctx context.Context, text string, keyed bool) (id int64, err error) {
	if !keyed {
		err = d.WriteOnce(ctx, func(ctx context.Context, c *pgx.Conn) error {
			return c.QueryRow(ctx, "INSERT INTO notebook.notes (text) VALUES ($1) RETURNING id", text).Scan(&id)
		})
		return id, err
	}
	err = d.Write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `INSERT INTO notebook.notes (text, key) VALUES ($1, $1)
ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING id`, text).Scan(&id)
	})
	return id, err
}

func (d *DB) count(ctx context.Context) (n int, err error) {
	err = d.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT count(*) FROM notebook.notes").Scan(&n)
	})
	return n, err
}

func (d *DB) mustInsert(t *testing.T) {
	t.Helper()
	if _, err := d.insert(t.Context(), "Call Zoë 🐕", false); err != nil {
		t.Errorf("insert: got error %v", err)
	}
}

func (d *DB) mustCount(t *testing.T, want int) {
	t.Helper()
	if n, err := d.count(t.Context()); err != nil || n != want {
		t.Errorf("got %d notes, error %v, want %d", n, err, want)
	}
}

// mustOpen opens a database and closes it when the test ends.
func mustOpen(t testing.TB, address string) *DB {
	t.Helper()
	d, err := Open(t.Context(), address, notebook, db.Options{})
	if err != nil {
		t.Fatalf("Open(%s): got error %v", address, err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// refused checks that Open, OpenReader and Migrate fail with an error of one line that
// contains want, and no password.
func refused(t *testing.T, address, want string) {
	t.Helper()
	_, openErr := Open(t.Context(), address, notebook, db.Options{})
	_, readErr := OpenReader(t.Context(), address, notebook)
	_, _, migrateErr := Migrate(t.Context(), address, notebook, slog.New(slog.DiscardHandler))
	for _, err := range []error{openErr, readErr, migrateErr} {
		if text := fmt.Sprint(err); err == nil || !strings.Contains(text, want) || strings.Contains(text, "hunter2") || strings.Contains(text, "\n") {
			t.Errorf("%s: got error %q, want one line that says %q", address, text, want)
		}
	}
}

//go:build postgres

package postgres

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/db/postgres/pgtest"
	"example.com/petstore/engine/fault"
)

func TestOpenRejects(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	here, newer := server.Address("postgres"), server.Address("newer")
	pgtest.Exec(t, here, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0", "CREATE DATABASE newer")
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
		rejects(t, address, want)
	}
	server.Hang()
	rejects(t, here, "set connect_timeout=SECONDS in the address")
}

// TestCheck checks what is rejected, by Open and by new connections, the metrics, and canceled waits for a standby.
func TestCheck(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	owner := server.Address("postgres")
	address := strings.Replace(owner, "postgres@", "ann@", 1) + "&connect_timeout=20" // for a busy machine
	_ = mustOpen(t, owner).Close()
	pgtest.Exec(t, owner, "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC", // as on some clouds: no timeline
		"CREATE ROLE ann LOGIN", "GRANT USAGE ON SCHEMA notebook TO ann",
		"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA notebook TO ann")
	d := mustOpen(t, address)
	opens := func(params, write, sync, read string) { // parts of the errors of Open without and with RequireSync, and of OpenReader
		opened, err := notebook.Open(t.Context(), address+params, db.Options{})
		dbtest.WantError(t, "Open"+params, err, write)
		_, readErr := notebook.OpenReader(t.Context(), address+params)
		dbtest.WantError(t, "OpenReader"+params, readErr, read)
		strict, strictErr := notebook.Open(t.Context(), address+params, db.Options{RequireSync: true})
		dbtest.WantError(t, "Open with RequireSync"+params, strictErr, cmp.Or(write, sync))
		assert.NotContains(t, fmt.Sprint(err, readErr, strictErr), "can be reached", params)
		if err == nil {
			assert.Equal(t, sync == "", dbtest.Metrics(t, opened)["postgres_sync"] == 1, "postgres_sync"+params)
		}
		if strictErr == nil {
			assert.EqualValues(t, 1, dbtest.Metrics(t, strict)["postgres_sync_required"], "postgres_sync_required"+params)
		}
	}
	opens("", "", `synchronous_standby_names is ""`, "")
	pgtest.Exec(t, owner, "CREATE TABLE notebook.parts (n int) PARTITION BY LIST (n)", "ALTER TABLE notebook.parts ENABLE ROW LEVEL SECURITY")
	opens("", "row security", "", "row security may hide rows from the user, in the tables parts")
	pgtest.Exec(t, owner, "DROP TABLE notebook.parts", "ALTER TABLE notebook.notes SET UNLOGGED")
	opens("", "UNLOGGED", "", "UNLOGGED tables: notes")
	_, err := d.list(t.Context())
	assert.ErrorContains(t, err, "UNLOGGED tables: notes", "list by a new connection")
	pgtest.Exec(t, owner, "ALTER TABLE notebook.notes SET LOGGED")
	for _, setting := range []string{"fsync", "full_page_writes"} {
		server.Configure(t, setting, "off")
		opens("", setting+" is off", "", "")
		_, err = d.insert(t.Context(), "Call Ann", false)
		dbtest.WantKind(t, "insert", err, fault.Unavailable)
		assert.ErrorContains(t, err, setting+" is off")
		d.mustCount(t, 0)
		server.Configure(t, setting, "on")
	}
	d.mustInsert(t)
	server.Configure(t, "synchronous_standby_names", "one")
	opens("&synchronous_commit=remote_write", "", "", "")
	opens("&synchronous_commit=local", "", "synchronous_commit local", "")
	opens("&synchronous_commit=off", "synchronous_commit is off", "", "")
	opens("&client_min_messages=warning", "", "", "")
	opens("&client_min_messages=error", "", "client_min_messages error", "")
	done := make(chan error, 1) // whose outcome is unknown, although the server reports success
	go func() { _, err := d.insert(t.Context(), "Call Ann", false); done <- err }()
	pgtest.CancelSync(t, owner, "%")
	dbtest.WantKind(t, "insert", <-done, fault.Internal)
	d.mustCount(t, 2)
}

// TestRole uses a role with settings and a limit of its own, and changes its password in a file.
func TestRole(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	owner, file := server.Address("postgres"), filepath.Join(t.TempDir(), "pgpass")
	address := strings.Replace(owner, "postgres@", "ann@", 1) + "&passfile=" + file
	change := func(password string) {
		pgtest.Exec(t, owner, "ALTER ROLE ann PASSWORD '"+password+"'")
		require.NoError(t, os.WriteFile(file, []byte("*:*:*:ann:"+password+"\n"), 0o600))
	}
	pgtest.Exec(t, owner, "CREATE ROLE ann LOGIN", "CREATE SCHEMA notebook AUTHORIZATION ann", // who may create no other
		"ALTER ROLE ann SET DateStyle = 'German'", "ALTER ROLE ann SET client_encoding = 'EUC_JP'",
		"DO $$ BEGIN EXECUTE format('COPY (VALUES (''host all postgres 127.0.0.1/32 trust''), (''host all all 127.0.0.1/32 scram-sha-256'')) TO %L', current_setting('hba_file')); END $$",
		"SELECT pg_reload_conf()")
	change("first")
	d := mustOpen(t, address+"&default_query_exec_mode=exec")
	d.mustInsert(t)
	d.mustCount(t, 1)
	name := pgtest.Query[string](t, owner, "SELECT application_name FROM pg_stat_activity WHERE usename = 'ann' LIMIT 1")
	assert.Equal(t, "notebook", name, "the name in the server's views")
	change("second")
	pgtest.Exec(t, owner, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'ann'", "ALTER ROLE ann CONNECTION LIMIT 1")
	for i := range 2 { // reads and writes take turns with the only connection
		d.mustCount(t, 1+i)
		d.mustInsert(t)
	}
	pgtest.Exec(t, owner, "ALTER SCHEMA notebook RENAME TO gone")
	dbtest.WantKind(t, "Ping without the schema", d.Ping(t.Context()), fault.Unavailable)
}

// TestMigrate goes up with a migration that takes longer than the server allows, and that fails unless the
// server ends the transaction of a process that hangs. It waits for the lock of a process that has died.
func TestMigrate(t *testing.T) {
	t.Parallel()
	address := pgtest.Start(t).Database(t)
	second := Schema{notebook.Name, maps.Clone(notebook.Migrations.(fstest.MapFS))}
	second.Migrations.(fstest.MapFS)["00002_stars.sql"] = &fstest.MapFile{
		Data: []byte("-- +goose Up\nALTER TABLE notebook.notes ADD stars int;\nSELECT pg_sleep(1.1);\n" +
			"SELECT 1 / (current_setting('idle_in_transaction_session_timeout') = '30s')::int;\n"),
	}
	log, logger := dbtest.NewLog()
	for _, c := range []struct {
		schema   Schema
		from, to int64
		log      int // lines, of which one says that it waits
	}{{notebook, 0, 1, 1}, {second, 1, 2, 2}, {second, 2, 2, 0}} {
		log.Reset()
		from, to, err := c.schema.Migrate(t.Context(), address+"&idle_in_transaction_session_timeout=10&statement_timeout=1000", logger)
		require.NoError(t, err, "Migrate from %d to %d", c.from, c.to)
		assert.Equal(t, []int64{c.from, c.to}, []int64{from, to})
		assert.Equal(t, c.log, strings.Count(log.String(), "\n"), "lines of Migrate from %d to %d:\n%s", from, to, log)
		pgtest.Exec(t, address, "INSERT INTO notebook.notes (text) VALUES ('Call Ann')",
			"UPDATE notebook.goose_lock SET locked = true, locked_by = 'replica', lease_expires_at = now() + interval '5 seconds'")
	}
	pgtest.Exec(t, address, "DELETE FROM notebook.goose_db_version WHERE version_id = 2")
	_, err := second.OpenReader(t.Context(), address)
	assert.ErrorIs(t, err, db.ErrOutdated)
	mustOpen(t, address).mustCount(t, 3)
	pgtest.Exec(t, address, "CREATE ROLE ann LOGIN", "GRANT USAGE ON SCHEMA notebook TO ann", "GRANT SELECT ON ALL TABLES IN SCHEMA notebook TO ann")
	soon, cancel := context.WithTimeout(t.Context(), 40*time.Second) // less than goose's waits to take and release the lock
	defer cancel()
	_, err = second.Open(soon, strings.Replace(address, "postgres@", "ann@", 1), db.Options{})
	assert.ErrorIs(t, err, db.ErrMayNotMigrate)

	// A process that hung has lost its lock, and must not try for long to release it.
	second.Migrations.(fstest.MapFS)["00003_lost.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nDELETE FROM notebook.goose_lock;\n")}
	pgtest.Exec(t, address, "UPDATE notebook.goose_lock SET locked = false", "INSERT INTO notebook.goose_db_version (version_id, is_applied) VALUES (2, true)")
	_, _, err = second.Migrate(soon, address, nil)
	assert.Error(t, err, "Migrate, when the lock was lost")
	assert.NoError(t, soon.Err(), "Migrate, when the lock was lost, takes longer")
}

// TestMigrateConcurrently opens an empty database eight times at once, partly through PgBouncer.
func TestMigrateConcurrently(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	direct := server.Database(t)
	pooled := strings.Replace(direct, server.Host(), server.Pooler(t).Host(), 1)
	var opened sync.WaitGroup
	for i := range 8 {
		opened.Go(func() {
			d, err := notebook.Open(t.Context(), []string{direct, pooled}[i%2], db.Options{})
			if assert.NoError(t, err) {
				defer d.Close()
				d.mustInsert(t)
			}
		})
	}
	opened.Wait()
	mustOpen(t, pooled).mustCount(t, 8)
}

// notebook is the schema of the tests.
var notebook = Schema{Name: "notebook", Migrations: fstest.MapFS{"00001_notes.sql": {Data: []byte(`-- +goose Up
CREATE TABLE notebook.notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, text text NOT NULL, key text UNIQUE);`)}}}

// insert inserts a note, with a key once only, however often it is called.
func (d *DB) insert(ctx context.Context, text string, keyed bool) (id int64, err error) {
	write, key := d.WriteOnce, any(nil)
	if keyed {
		write, key = d.Write, text
	}
	err = write(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `INSERT INTO notebook.notes (text, key) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING id`, text, key).Scan(&id)
	})
	return id, err
}

// list returns the identifiers of all notes by their texts, and reads the time of the server.
func (d *DB) list(ctx context.Context) (rows dbtest.Rows, err error) {
	err = d.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT json_object_agg(text, ids), now()
			FROM (SELECT text, array_agg(id) AS ids FROM notebook.notes GROUP BY text) AS rows`).Scan(&rows, new(time.Time))
	})
	return rows, err
}

func (d *DB) mustInsert(t *testing.T) {
	_, err := d.insert(t.Context(), "Call Zoë 🐕", false)
	assert.NoError(t, err)
}

func (d *DB) mustCount(t *testing.T, want int) {
	rows, err := d.list(t.Context())
	assert.NoError(t, err)
	assert.Len(t, slices.Concat(slices.Collect(maps.Values(rows))...), want)
}

// mustOpen opens a database and closes it when the test ends.
func mustOpen(t testing.TB, address string, logger ...*slog.Logger) *DB {
	d, err := notebook.Open(t.Context(), address, db.Options{Logger: cmp.Or(logger...)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// rejects checks that Open and OpenReader fail with one line that contains want, and no password.
func rejects(t *testing.T, address, want string) {
	_, writeErr := notebook.Open(t.Context(), address, db.Options{})
	_, readErr := notebook.OpenReader(t.Context(), address)
	for _, err := range []error{writeErr, readErr} {
		assert.ErrorContains(t, err, want, address)
		assert.NotRegexp(t, "hunter2|\n", err, address)
	}
}

//go:build postgres

package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/db"
)

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

// dial makes a connection and closes it when the test ends.
func dial(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { disconnect(conn) })
	return conn
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

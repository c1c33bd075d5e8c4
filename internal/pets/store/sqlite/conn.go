package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"example.com/petstore/internal/pets"
)

// pragma is a setting of a connection and SQLite's reply once it took.
type pragma struct{ name, value, reads string }

// The settings of a connection. journal_size_limit cuts the log back after a
// burst; by itself it stays near 4 MiB, since every commit of an explicit
// transaction may fold it into the database (wal_autocheckpoint).
var (
	commonPragmas = []pragma{
		{"busy_timeout", fmt.Sprint(busyTimeout), fmt.Sprint(busyTimeout)},
		{"foreign_keys", "1", "1"},
		{"synchronous", "FULL", "2"},
	}
	writerPragmas = append([]pragma{
		{"journal_mode", "WAL", "wal"},
		{"journal_size_limit", "16777216", "16777216"},
		{"wal_autocheckpoint", "1000", "1000"},
	}, commonPragmas...)
	readerPragmas = append([]pragma{{"query_only", "1", "1"}}, commonPragmas...)
)

// dsn returns the driver's address of the file at path.
func dsn(path string, pragmas []pragma) string {
	var b strings.Builder
	b.WriteString("file:")
	if strings.HasPrefix(path, "/") {
		b.WriteString("//") // an empty authority, so that a path with two slashes first does not give one
	}
	b.WriteString(strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path))
	b.WriteString("?_txlock=immediate")
	for _, p := range pragmas {
		fmt.Fprintf(&b, "&_pragma=%s(%s)", p.name, p.value)
	}
	return b.String()
}

// verify reads the settings back: SQLite ignores what it cannot do.
func verify(ctx context.Context, c *sql.Conn, pragmas []pragma) error {
	for _, p := range pragmas {
		var got string
		if err := c.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&got); err != nil {
			return err
		}
		if got != p.reads {
			return fmt.Errorf("SQLite did not take the setting %s=%s: it reads %s; is the file on a network or read-only file system?", p.name, p.value, got)
		}
	}
	return nil
}

// connection is a connection with its settings verified, and its statements.
type connection struct {
	conn  *sql.Conn
	stmts []*sql.Stmt
	err   error // the first of prepare
}

func connect(ctx context.Context, db *sql.DB, pragmas []pragma) (*connection, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: conn}
	if err := verify(ctx, conn, pragmas); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *connection) prepare(ctx context.Context, query string) *sql.Stmt {
	if c.err != nil {
		return nil
	}
	var stmt *sql.Stmt
	stmt, c.err = c.prepareLater(ctx, query)
	return stmt
}

// prepareLater is prepare for a statement that the connection can do without.
func (c *connection) prepareLater(ctx context.Context, query string) (*sql.Stmt, error) {
	stmt, err := c.conn.PrepareContext(ctx, query)
	if err == nil {
		c.stmts = append(c.stmts, stmt)
	}
	return stmt, err
}

// close closes the statements too. database/sql leaves those of a sql.Conn open,
// and with them SQLite leaves its connection, and so the log, as it is.
func (c *connection) close() error {
	var errs []error
	for _, stmt := range c.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.conn.Close())...)
}

// reader is a connection that only reads, with its statements.
type reader struct {
	*connection
	pet, pets, petsByStatus, key, keys, ping, lastBackup *sql.Stmt
}

func newReader(ctx context.Context, db *sql.DB) (*reader, error) {
	c, err := connect(ctx, db, readerPragmas)
	if err != nil {
		return nil, err
	}
	r := &reader{
		connection:   c,
		pet:          c.prepare(ctx, selectPet),
		pets:         c.prepare(ctx, selectPets),
		petsByStatus: c.prepare(ctx, selectPetsByStatus),
		key:          c.prepare(ctx, selectKey),
		keys:         c.prepare(ctx, selectKeys),
		ping:         c.prepare(ctx, "SELECT 1 FROM pets UNION ALL SELECT 1 LIMIT 1"),
		lastBackup:   c.prepare(ctx, "SELECT max(finished_at) FROM backups"),
	}
	if c.err != nil {
		return nil, errors.Join(c.err, c.close())
	}
	return r, nil
}

// read runs f with one of the readers that all share.
func (s *Store) read(ctx context.Context, f func(*reader) error) error {
	return s.readWith(ctx, s.readers, f)
}

// readWith runs f with a reader of the pool. It waits for one no longer than ctx;
// f itself is not interrupted, since it reads at most a page of pets, and SQLite's
// interruption would cost a goroutine a query.
func (s *Store) readWith(ctx context.Context, pool chan *reader, f func(*reader) error) error {
	select {
	case r, open := <-pool:
		if !open {
			return pets.ErrClosed
		}
		defer func() { pool <- r }()
		err := f(r)
		s.health.met(err)
		return translate(err)
	case <-ctx.Done():
		return pets.ErrGaveUp
	}
}

// usable returns why the store cannot be used now, or nil.
func (s *Store) usable(ctx context.Context) error {
	if s.closed.Load() {
		return pets.ErrClosed
	}
	if ctx.Err() != nil {
		return pets.ErrGaveUp
	}
	return nil
}

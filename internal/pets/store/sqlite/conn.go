package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// connection is a connection with its settings verified, and its statements.
type connection struct {
	conn  *sql.Conn
	stmts []*sql.Stmt
	err   error // the first of prepare
}

func connect(ctx context.Context, db *sql.DB, pragmas []dbfile.Pragma) (*connection, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	c := &connection{conn: conn}
	if err := dbfile.CheckPragmas(ctx, conn, pragmas); err != nil {
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
	c, err := connect(ctx, db, dbfile.ReaderPragmas)
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
		ping:         c.prepare(ctx, "SELECT (SELECT name FROM pets ORDER BY id DESC LIMIT 1), (SELECT name FROM keys LIMIT 1)"),
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

package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
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

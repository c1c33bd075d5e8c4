package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"example.com/petstore/internal/petstore"
)

// pragma is a setting of a connection and what SQLite answers once it took.
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

// statements prepares queries on one connection; the first error sticks.
type statements struct {
	ctx  context.Context
	conn *sql.Conn
	err  error
}

func (s *statements) prepare(query string) *sql.Stmt {
	if s.err != nil {
		return nil
	}
	var stmt *sql.Stmt
	stmt, s.err = s.conn.PrepareContext(s.ctx, query)
	return stmt
}

// reader is a connection that only reads, with its statements.
type reader struct {
	conn                                     *sql.Conn
	pet, pets, petsByStatus, key, keys, ping *sql.Stmt
}

func newReader(ctx context.Context, db *sql.DB) (*reader, error) {
	c, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if err := verify(ctx, c, readerPragmas); err != nil {
		return nil, err
	}
	st := statements{ctx: ctx, conn: c}
	r := &reader{
		conn:         c,
		pet:          st.prepare(selectPet),
		pets:         st.prepare(selectPets),
		petsByStatus: st.prepare(selectPetsByStatus),
		key:          st.prepare(selectKey),
		keys:         st.prepare(selectKeys),
		ping:         st.prepare("SELECT 1 FROM pets UNION ALL SELECT 1 LIMIT 1"),
	}
	return r, st.err
}

// read runs f with a reader. It waits for one no longer than ctx; f itself is
// not interrupted, since it reads at most a page of pets, and SQLite's
// interruption would cost a goroutine a query.
func (s *Store) read(ctx context.Context, f func(*reader) error) error {
	select {
	case r, open := <-s.readers:
		if !open {
			return errClosed
		}
		defer func() { s.readers <- r }()
		return translate(f(r))
	case <-ctx.Done():
		return errGaveUp
	}
}

var (
	errClosed = &petstore.Error{Kind: petstore.Unavailable, Message: "the store is closed"}
	errGaveUp = &petstore.Error{Kind: petstore.Unavailable, Message: "the caller gave up waiting for the store"}
)

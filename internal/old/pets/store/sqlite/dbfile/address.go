package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite" // registers itself as "sqlite": SQLite, translated to Go
)

// BusyTimeout is how long SQLite itself waits, in milliseconds, for another
// process to finish its transaction. It stays below the edge's deadline of a
// request, so that a client gets 503 and not a cut connection.
const BusyTimeout = 5000

// Pragma is a setting of a connection and SQLite's reply once it took.
type Pragma struct{ Name, Value, Reads string }

// The settings of a connection. journal_size_limit cuts the log back after a burst.
// SQLite itself never folds the log into the file after a commit (wal_autocheckpoint):
// it would ignore the errors that it meets. The store does so, and sees them.
var (
	commonPragmas = []Pragma{
		{"busy_timeout", fmt.Sprint(BusyTimeout), fmt.Sprint(BusyTimeout)},
		{"foreign_keys", "1", "1"},
		{"synchronous", "FULL", "2"},
	}
	WriterPragmas = append([]Pragma{
		{"journal_mode", "WAL", "wal"},
		{"journal_size_limit", "16777216", "16777216"},
		{"wal_autocheckpoint", "0", "0"},
	}, commonPragmas...)
	ReaderPragmas = append([]Pragma{{"query_only", "1", "1"}}, commonPragmas...)
)

// Address returns the driver's address of the file.
func Address(file string, pragmas []Pragma) string {
	var b strings.Builder
	b.WriteString("file:")
	if strings.HasPrefix(file, "/") {
		b.WriteString("//") // an empty authority, so that a path with two slashes first does not give one
	}
	b.WriteString(strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file))
	b.WriteString("?_txlock=immediate&_error_rc=1") // errors say nothing of another call's
	for _, p := range pragmas {
		fmt.Fprintf(&b, "&_pragma=%s(%s)", p.Name, p.Value)
	}
	return b.String()
}

// With calls f with a database of one connection at that address, and closes it.
func With(address string, f func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(f(db), db.Close())
}

// CheckPragmas reads the settings back: SQLite ignores a setting that it cannot apply.
func CheckPragmas(ctx context.Context, c *sql.Conn, pragmas []Pragma) error {
	for _, p := range pragmas {
		var got string
		if err := c.QueryRowContext(ctx, "PRAGMA "+p.Name).Scan(&got); err != nil {
			return err
		}
		if got != p.Reads {
			return fmt.Errorf("SQLite did not take the setting %s=%s: it reads %s; is the file on a network or read-only file system?", p.Name, p.Value, got)
		}
	}
	return nil
}

// PagesWritten returns how many pages the connection has written, to the log, since
// it was asked last.
func PagesWritten(c *sql.Conn) (n int, err error) {
	err = c.Raw(func(c any) (err error) {
		status, ok := c.(driver.DBStatus)
		if !ok {
			return errors.New("the driver does not count pages")
		}
		n, _, err = status.Status(driver.DBStatusCacheWrite, true)
		return err
	})
	return n, err
}

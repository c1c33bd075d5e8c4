package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"net/url"
)

// The options of connections. mode=rw does not create a file. Checkpoints that SQLite
// starts itself are off, because it ignores their errors; see writer.checkpoint.
var (
	toWrite = url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		"busy_timeout=5000", "synchronous=FULL", "journal_size_limit=16777216", "wal_autocheckpoint=0",
	}}
	toRead = url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout=5000", "query_only=1"}}
)

// connect returns a pool of one connection, which stays open. The connection is made by
// the first query.
func connect(file string, options url.Values) *sql.DB {
	address := "file:" + (&url.URL{Path: file}).EscapedPath() + "?_error_rc=1&" + options.Encode()
	db, _ := sql.Open("sqlite", address) // fails only without the driver
	db.SetMaxOpenConns(1)
	return db
}

// prepare prepares the statements.
func prepare(ctx context.Context, db *sql.DB, statements map[string]**sql.Stmt) error {
	for query, stmt := range statements {
		var err error
		if *stmt, err = db.PrepareContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

type scanner interface{ Scan(dest ...any) error }

// scanned yields the rows of a query with the error err, up to the first error, and closes
// them.
func scanned[T any](rows *sql.Rows, err error, scan func(scanner, *T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		if err != nil {
			yield(*new(T), err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			var v T
			err := scan(rows, &v)
			if !yield(v, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(*new(T), err)
		}
	}
}

// collect returns what scanned yields, up to the first error.
func collect[T any](rows *sql.Rows, err error, scan func(scanner, *T) error) (all []T, _ error) {
	for v, err := range scanned(rows, err, scan) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

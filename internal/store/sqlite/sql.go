package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"net/url"
)

// The options of connections. mode=rw does not create a file. Checkpoints that SQLite
// starts itself are off, because it ignores their errors; see Store.checkpoint.
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

// statements holds prepared statements by their text.
type statements map[string]*sql.Stmt

func prepare(ctx context.Context, db *sql.DB, queries ...string) (statements, error) {
	prepared := statements{}
	for _, query := range queries {
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		prepared[query] = stmt
	}
	return prepared, nil
}

// QueryContext implements querier.
func (s statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return s[query].QueryContext(ctx, args...)
}

type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type scanner interface{ Scan(dest ...any) error }

// rowsOf yields the rows of a query, up to the first error.
func rowsOf[T any](
	ctx context.Context, db querier, scan func(scanner, *T) error, query string, args ...any,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			yield(*new(T), classify(err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var v T
			err := scan(rows, &v)
			if !yield(v, classify(err)) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(*new(T), classify(err))
		}
	}
}

// collect returns the values of all, up to the first error.
func collect[T any](all iter.Seq2[T, error]) (values []T, err error) {
	for v, err := range all {
		if err != nil {
			return values, err
		}
		values = append(values, v)
	}
	return values, nil
}

// Package sqlite implements store.Store on a single SQLite file,
// which several processes on one machine may use at once. Beside it are SQLite's
// write-ahead log (-wal), its index (-shm), and this package's lock file (-lock).
//
// An acknowledged write has been synced to disk. One goroutine commits all waiting
// writes together.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/store"
)

var (
	_ store.Store          = (*Store)(nil)
	_ store.Reader         = (*Reader)(nil)
	_ prometheus.Collector = (*Store)(nil)
)

// Store is a store.Store in an SQLite file.
type Store struct {
	file   string // the path without symbolic links
	lock   *flock.Flock
	faults faults

	writer  *sql.DB // has the only connection that writes
	inserts statements
	jobs    chan *job
	ended   chan struct{} // closed when all jobs are done, after jobs is closed
	commits atomic.Uint64

	readers []*sql.DB       // each has one connection
	idle    chan statements // of the readers that are not in use

	mu     sync.RWMutex // read-locked by every call; Close locks it
	closed bool
}

// whileOpen calls f unless the store is closed. Close waits until f returns.
func (s *Store) whileOpen(f func() error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return db.ErrClosed
	}
	return f()
}

// read calls f with the statements of a reader once one is idle. f takes no context: its
// queries are short, and watching a context would double their cost.
func (s *Store) read(ctx context.Context, f func(statements) error) error {
	return s.whileOpen(func() error {
		select {
		case selects := <-s.idle:
			defer func() { s.idle <- selects }()
			err := f(selects)
			_ = s.faults.record(err)
			return classify(err)
		case <-ctx.Done():
			return db.GaveUp(ctx.Err())
		}
	})
}

// Ping implements pets.Store. It also detects that the file was replaced while
// nothing was written.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(statements) error { return s.faults.check() })
}

func (s *Store) Failed() <-chan error { return s.faults.failed }

// Close implements pets.Store. It waits for the writes in progress.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.jobs)
	<-s.ended
	return s.finish()
}

// finish copies the log into the file and closes the connections. SQLite also copies it
// when the last connection is closed, but ignores errors. So after a failure finish
// closes nothing, and the log stays for the next process. If only the log was removed,
// however, closing saves what it held.
func (s *Store) finish() error {
	if s.faults.check() == nil {
		s.checkpoint(0)
	}
	failure := s.faults.failure.Load()
	if failure == nil || errors.Is(failure, errReplaced) && replaced(s.faults.files[:1]) == nil {
		return s.release()
	}
	select {
	case err := <-s.faults.failed: // not yet reported
		return err
	default:
		return nil
	}
}

// release closes the connections and releases the lock.
func (s *Store) release() error {
	var errs []error
	for _, db := range append(s.readers, s.writer) {
		errs = append(errs, db.Close())
	}
	return errors.Join(append(errs, s.lock.Close())...)
}

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

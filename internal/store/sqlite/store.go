// Package sqlite keeps pets and keys in one SQLite file, beside which SQLite
// puts a write-ahead log (-wal) and an index of it (-shm). Several processes
// may use the file at once, on one machine.
//
// What is acknowledged has been through fsync (synchronous=FULL). One
// goroutine, the committer, does all writing and commits whatever waits in one
// transaction; readers have connections of their own.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver "sqlite": SQLite itself, translated to Go

	"example.com/petstore/internal/petstore"
)

var _ petstore.Store = (*Store)(nil)

// Store is a petstore.Store in an SQLite file.
type Store struct {
	writeDB, readDB *sql.DB
	readers         chan *reader
	committer       *committer
	closing         sync.Once
}

// busyTimeout is how long SQLite itself waits, in milliseconds, for another
// process to finish its transaction. It stays below the edge's deadline of a
// request, so that a client hears 503 and not a cut connection.
const busyTimeout = 5000

// Open opens the database at path, makes it (mode 0600) and brings its schema
// up to date if need be. It refuses a database whose schema is newer than this
// program, and one that does not take the settings durability depends on.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	if err := migrate(ctx, path); err != nil {
		return nil, explainOpen(path, err)
	}
	s, err := open(ctx, path)
	if err != nil {
		return nil, explainOpen(path, err)
	}
	return s, nil
}

// prepareFile makes the file with narrow permissions before SQLite would make
// it with wide ones; the -wal and -shm files take theirs from it.
func prepareFile(path string) error {
	if path == "" || strings.HasPrefix(path, ":") {
		return fmt.Errorf("%q is not a file name; give sqlite:PATH, or memory: to keep nothing", path)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	return f.Close()
}

func open(ctx context.Context, path string) (_ *Store, err error) {
	// As many readers as could work at once, and a few, since a reader may
	// wait for the disk. Each holds at most 2 MiB of pages.
	readers := min(max(4, runtime.GOMAXPROCS(0)), 8)
	s := &Store{readers: make(chan *reader, readers)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeDatabases())
		}
	}()
	if s.writeDB, err = sql.Open("sqlite", dsn(path, writerPragmas)); err != nil {
		return nil, err
	}
	if s.readDB, err = sql.Open("sqlite", dsn(path, readerPragmas)); err != nil {
		return nil, err
	}
	w, err := newWriter(ctx, s.writeDB)
	if err != nil {
		return nil, err
	}
	for range readers {
		r, err := newReader(ctx, s.readDB)
		if err != nil {
			return nil, err
		}
		s.readers <- r
	}
	s.committer = startCommitter(w)
	return s, nil
}

// Ping implements petstore.Store.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func(r *reader) error {
		var one int
		return r.ping.QueryRow().Scan(&one)
	})
}

// Failed implements petstore.Store.
func (s *Store) Failed() <-chan error { return s.committer.failed }

// Close implements petstore.Store. Its last connection folds the write-ahead
// log into the database file.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.committer.close()
		errs := []error{s.committer.w.conn.Close()}
		for range cap(s.readers) {
			r := <-s.readers
			errs = append(errs, r.conn.Close())
		}
		close(s.readers)
		err = errors.Join(append(errs, s.closeDatabases())...)
	})
	return err
}

// closeDatabases closes readers first: the last connection to close, which
// folds the log, must be one that may write.
func (s *Store) closeDatabases() error {
	var errs []error
	for _, db := range []*sql.DB{s.readDB, s.writeDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

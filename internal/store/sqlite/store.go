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
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver "sqlite": SQLite itself, translated to Go

	"example.com/petstore/internal/petstore"
)

var _ petstore.Store = (*Store)(nil)

// Store is a petstore.Store in an SQLite file.
type Store struct {
	writeDB, readDB *sql.DB
	readers         chan *reader
	committer       *committer
	petCache        cache[int64, petstore.Pet]
	pageCache       cache[petstore.Query, petstore.Page]
	closing         sync.Once
	closed          atomic.Bool
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
	// A file that exists is not opened here: closing it again would give up the
	// locks that another Store of this process has on it (POSIX).
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if errors.Is(err, fs.ErrExist) {
		var info fs.FileInfo
		if info, err = os.Stat(path); err == nil && info.IsDir() {
			err = fmt.Errorf("%s is a directory", path)
		}
	}
	if err != nil {
		return fmt.Errorf("cannot open the database: %w", err)
	}
	return nil
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
			return nil, errors.Join(err, w.close(), s.closeReaders(len(s.readers)))
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
		s.closed.Store(true)
		s.committer.close()
		err = errors.Join(s.committer.w.close(), s.closeReaders(cap(s.readers)))
		close(s.readers)
		err = errors.Join(err, s.closeDatabases())
	})
	return err
}

// closeReaders waits for n readers to be free and closes them.
func (s *Store) closeReaders(n int) error {
	var errs []error
	for range n {
		errs = append(errs, (<-s.readers).close())
	}
	return errors.Join(errs...)
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

// Package sqlite keeps pets and keys in one SQLite file, beside which SQLite
// puts a write-ahead log (-wal) and an index of it (-shm). Several processes
// may use the file at once, on one machine.
//
// An acknowledged write has been through fsync (synchronous=FULL). One goroutine, the
// committer, does all writing and commits all writes that wait in one transaction.
// Readers have connections of their own.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"runtime"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

var _ pets.Store = (*Store)(nil)

// Store is a pets.Store in an SQLite file.
type Store struct {
	file            string    // its name, without symbolic links
	held            io.Closer // its lock
	writeDB, readDB *sql.DB
	readers         chan *reader
	keyReader       chan *reader // one, so that readers of large pages keep no key waiting
	committer       *committer   // nil where the store is read-only
	health          health
	closing         sync.Once
	closed          atomic.Bool
}

// Open opens the database at path, makes it (mode 0600) and brings its schema
// up to date if need be. It refuses a database whose schema is newer than this
// program or another program's, and one that it may not write to. It also refuses
// one that does not take the settings durability depends on.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	file, made, err := prepareFile(path, o)
	if err != nil {
		return nil, err
	}
	if o.ReadOnly {
		return openReadOnly(ctx, path, file)
	}
	if err := dbfile.CheckWritable(file); err != nil {
		return nil, err
	}
	if err := errors.Join(dbfile.Recover(ctx, file), dbfile.CheckIndex(ctx, file)); err != nil {
		return nil, dbfile.Explain(path, err)
	}
	lock, err := dbfile.Share(ctx, file)
	if err != nil {
		return nil, err
	}
	if err := dbfile.Migrate(ctx, file); err != nil {
		return nil, errors.Join(dbfile.Explain(path, err), lock.Close())
	}
	s := &Store{file: file, held: lock}
	s.health.file, s.health.notify = file, o.Notify
	if err := s.open(ctx, path); err != nil {
		return nil, errors.Join(dbfile.Explain(path, err), lock.Close())
	}
	if made && o.Made != nil {
		o.Made(dbfile.Absolute(path))
	}
	return s, nil
}

// open opens the connections of a store that writes.
func (s *Store) open(ctx context.Context, path string) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, s.closeDatabases())
		}
	}()
	if s.writeDB, err = sql.Open("sqlite", dbfile.Address(s.file, dbfile.WriterPragmas)); err != nil {
		return err
	}
	w, err := newWriter(ctx, s.writeDB)
	if err != nil {
		return err
	}
	if err = s.openReaders(ctx, dbfile.Address(s.file, dbfile.ReaderPragmas)); err != nil {
		return errors.Join(err, w.close())
	}
	if s.health.files, err = lookAt(path, s.file+dbfile.LogSuffix, s.file+dbfile.IndexSuffix); err != nil { // path may be a link, which may lead elsewhere one day
		return errors.Join(err, w.close(), s.closeReaders())
	}
	s.health.failed = make(chan error, 1)
	s.committer = startCommitter(w, &s.health)
	return nil
}

// openReaders opens as many readers as could work at once, and a few, since a
// reader may wait for the disk. Each holds at most 2 MiB of pages.
func (s *Store) openReaders(ctx context.Context, address string) (err error) {
	if s.readDB, err = sql.Open("sqlite", address); err != nil {
		return err
	}
	if s.readers, err = openPool(ctx, s.readDB, min(max(4, runtime.GOMAXPROCS(0)), 8)); err != nil {
		return err
	}
	if s.keyReader, err = openPool(ctx, s.readDB, 1); err != nil {
		return errors.Join(err, closePool(s.readers))
	}
	return nil
}

func openPool(ctx context.Context, db *sql.DB, size int) (chan *reader, error) {
	pool := make(chan *reader, size)
	for range size {
		r, err := newReader(ctx, db)
		if err != nil {
			for len(pool) > 0 {
				err = errors.Join(err, (<-pool).close())
			}
			return nil, err
		}
		pool <- r
	}
	return pool, nil
}

// closePool waits for the readers of a pool to be free and closes them. A call that
// asks for one later gets ErrClosed.
func closePool(pool chan *reader) error {
	var errs []error
	for range cap(pool) {
		errs = append(errs, (<-pool).close())
	}
	close(pool)
	return errors.Join(errs...)
}

func (s *Store) closeReaders() error {
	return errors.Join(closePool(s.readers), closePool(s.keyReader))
}

// Ping implements pets.Store. It reads from both tables, as requests do. It also
// notices that the file was replaced while there were no writes, and ends the store
// then.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	if err := s.health.check(); err != nil {
		return &pets.FileFault{Err: err}
	}
	err := s.read(ctx, func(r *reader) error {
		var pet, key sql.NullString
		return r.ping.QueryRow().Scan(&pet, &key)
	})
	if damage := s.health.check(); damage != nil {
		return &pets.FileFault{Err: damage}
	}
	return err
}

// Failed implements pets.Store.
func (s *Store) Failed() <-chan error { return s.health.failed }

// write has the committer run apply in a transaction.
func (s *Store) write(ctx context.Context, apply func(*writer) error) error {
	if s.committer == nil {
		return errReadOnly
	}
	return s.committer.write(ctx, apply)
}

var errReadOnly = &pets.Error{Kind: pets.Internal, Message: "the store was opened for reading only"}

// Close implements pets.Store. It folds the log into the file. Its error is one that
// Failed has not delivered.
func (s *Store) Close() (err error) {
	s.closing.Do(func() {
		s.closed.Store(true)
		if s.committer != nil {
			s.committer.close()
		}
		err = s.closeReaders()
		if s.readDB != nil {
			err = errors.Join(err, s.readDB.Close())
		}
		if s.committer != nil {
			err = errors.Join(err, s.closeWriter())
		}
		err = errors.Join(err, s.held.Close())
	})
	return err
}

// closeWriter closes the connection that writes, unless the store failed. SQLite
// folds the log when the last connection is closed, and ignores what goes wrong. So
// the log was folded before, and of a store that failed it stays as it is: the
// connection ends with the process.
func (s *Store) closeWriter() error {
	s.committer.foldLast()
	if failure := s.health.failure.Load(); failure != nil && !isReplaced(failure) {
		select {
		case err := <-s.health.failed:
			return err
		default:
			return nil
		}
	}
	return errors.Join(s.committer.w.close(), s.writeDB.Close())
}

func (s *Store) closeDatabases() error {
	var errs []error
	for _, db := range []*sql.DB{s.readDB, s.writeDB} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

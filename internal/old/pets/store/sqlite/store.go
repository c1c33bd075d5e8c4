// Package sqlite keeps pets and keys in one SQLite file, beside which SQLite
// puts a write-ahead log (-wal) and an index of it (-shm). Several processes
// may use the file at once, on one machine.
//
// An acknowledged write has been through fsync (synchronous=FULL). One goroutine, the
// committer, does all writing, commits all writes that wait in one transaction, and
// folds the log into the file. Readers have connections of their own.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

var _ pets.Store = (*Store)(nil)

// Store is a pets.Store in an SQLite file.
type Store struct {
	file      string    // its name, without symbolic links
	held      io.Closer // its lock
	writeDB   *sql.DB
	readers   *readers
	committer *committer // nil where the store is read-only
	state     fileState
	closing   sync.Once
	closed    atomic.Bool
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
	s.state.file, s.state.notify, s.state.failed = file, o.Notify, make(chan error, 1)
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
	if s.writeDB, err = sql.Open("sqlite", dbfile.Address(s.file, dbfile.WriterPragmas)); err != nil {
		return err
	}
	w, err := newWriter(ctx, s.writeDB)
	if err != nil {
		return errors.Join(err, s.writeDB.Close())
	}
	folder, err := newFolder(ctx, w, &s.state)
	if err == nil {
		s.readers, err = openReaders(ctx, dbfile.Address(s.file, dbfile.ReaderPragmas))
	}
	if err == nil { // path may be a link, which may lead elsewhere one day
		s.state.files, err = lookAt(path, s.file+dbfile.LogSuffix, s.file+dbfile.IndexSuffix)
	}
	if err != nil {
		if s.readers != nil {
			err = errors.Join(err, s.readers.close())
		}
		return errors.Join(err, w.close(), s.writeDB.Close())
	}
	s.committer = startCommitter(w, folder, &s.state)
	return nil
}

// openReadOnly opens a database that nothing is to be written to.
func openReadOnly(ctx context.Context, path, file string) (*Store, error) {
	reading, err := dbfile.Read(ctx, path, file)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, held: reading}
	if s.readers, err = openReaders(ctx, reading.Address); err != nil {
		return nil, errors.Join(dbfile.Explain(path, err), reading.Close())
	}
	return s, nil
}

// read runs f with one of the readers that all share.
func (s *Store) read(ctx context.Context, f func(*reader) error) error {
	return readWith(ctx, s.readers.shared, &s.state, f)
}

// readKey runs f with the reader that only looks up keys.
func (s *Store) readKey(ctx context.Context, f func(*reader) error) error {
	return readWith(ctx, s.readers.keys, &s.state, f)
}

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
		err = s.readers.close()
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
	if failure := s.state.failure.Load(); failure != nil && !isReplaced(failure) {
		select {
		case err := <-s.state.failed:
			return err
		default:
			return nil
		}
	}
	return errors.Join(s.committer.w.close(), s.writeDB.Close())
}

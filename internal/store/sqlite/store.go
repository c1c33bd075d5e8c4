// Package sqlite implements store.Store on a single SQLite file,
// which several processes on one machine may use at once. Beside it are SQLite's
// write-ahead log (-wal), its index (-shm), and this package's lock file (-lock).
//
// An acknowledged write has been synced to disk. One goroutine commits all waiting
// writes together; Fill has a transaction of its own.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"runtime"
	"sync"

	"github.com/gofrs/flock"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

var (
	_ store.Store          = (*Store)(nil)
	_ prometheus.Collector = (*Store)(nil)
)

// Options configures Open. The zero value is valid.
type Options struct {
	MustExist bool         // fail if there is no database, instead of creating one
	Logger    *slog.Logger // reports a new database, and damage
}

// Store is a store.Store in an SQLite file.
type Store struct {
	file    string // the path without symbolic links
	lock    *flock.Flock
	health  health
	writer  *writer
	readers *sql.DB
	reading chan struct{} // holds a value for each reader in use

	selectPet, selectPets, selectPetsByStatus, selectKey *sql.Stmt

	mu     sync.RWMutex // read-locked by every call; Close locks it
	closed bool
}

// Open opens the database at path, creating it with mode 0600 if there is none,
// and brings its schema up to date. It rejects a database with a newer schema, a
// database of another program, and one that cannot have a write-ahead log.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if err := prepareFile(file, o); err != nil {
		return nil, explain(path, err)
	}
	s := &Store{file: file, lock: newLock(file), readers: connect(file, readerPragmas)}
	s.health.logger, s.health.failed = o.Logger, make(chan error, 1)
	s.writer = newWriter(file, &s.health)
	if err := s.open(ctx, path); err != nil {
		return nil, explain(path, errors.Join(err, s.release()))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, path string) error {
	alone, err := s.lock.TryLock()
	if err == nil && alone {
		err = recoverLog(s.file)
	} else if err == nil {
		err = share(ctx, s.lock)
	}
	if err != nil {
		return err
	}
	if err := s.writer.open(ctx); err != nil {
		return err
	}
	if err := s.openReaders(ctx); err != nil {
		return err
	}
	// path may be a symbolic link, which someone may change later.
	if s.health.files, err = identify(path, s.file+logSuffix, s.file+indexSuffix, s.file+lockSuffix); err != nil {
		return err
	}
	err = errors.Join(syncDir(s.file), share(ctx, s.lock))
	if err = cmp.Or(err, s.health.check()); err == nil { // a restore may have run while share held no lock
		go s.writer.run()
	}
	return err
}

// openReaders opens a connection for reading per processor, within limits, and reads
// from each: if the file were emptied before its first read, SQLite would remove the log.
func (s *Store) openReaders(ctx context.Context) error {
	n := min(max(4, runtime.GOMAXPROCS(0)), 8)
	s.reading = make(chan struct{}, n)
	s.readers.SetMaxOpenConns(n)
	s.readers.SetMaxIdleConns(n)
	err := prepare(ctx, s.readers, map[string]**sql.Stmt{
		selectPet: &s.selectPet, selectPets: &s.selectPets, selectPetsByStatus: &s.selectPetsByStatus, selectKey: &s.selectKey,
	})
	if err != nil {
		return err
	}
	for range n {
		c, err := s.readers.Conn(ctx)
		if err != nil {
			return err
		}
		defer c.Close() // returns it to the pool
		if _, err := c.ExecContext(ctx, "SELECT * FROM sqlite_schema"); err != nil {
			return err
		}
	}
	return nil
}

// release closes the connections and releases the lock.
func (s *Store) release() error {
	return errors.Join(s.readers.Close(), s.writer.db.Close(), s.lock.Close())
}

// read calls f once a connection for reading is free. f takes no context: its
// queries are short, and watching a context would double their cost.
func (s *Store) read(ctx context.Context, f func() error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return pets.ErrClosed
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-ctx.Done():
		return gaveUp(ctx.Err())
	}
	err := f()
	_ = s.health.record(err)
	return classify(err)
}

// write makes the writer call f in a transaction, perhaps twice: the last call counts.
func (s *Store) write(ctx context.Context, f func(*tx) error) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return pets.ErrClosed
	}
	return s.writer.write(ctx, f)
}

// Ping implements pets.Store. It also detects that the file was replaced while
// nothing was written, and that the first page of a table is corrupt.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, func() error {
		err := s.readers.QueryRow("SELECT (SELECT name FROM pets ORDER BY id DESC LIMIT 1), (SELECT name FROM keys LIMIT 1)").Scan(new(sql.NullString), new(sql.NullString))
		_ = s.health.record(err)
		return cmp.Or(s.health.writable(), err)
	})
}

func (s *Store) Failed() <-chan error { return s.health.failed }

// Close implements pets.Store. The last connection to close would copy the log into
// the file and ignore errors. So Close copies it first, and closes nothing after a
// failure or if the file was replaced. If only the log was, closing saves what it held.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.writer.jobs)
	<-s.writer.ended
	if s.health.check() == nil {
		s.writer.checkpoint(0)
	}
	failure := s.health.failure.Load()
	if failure == nil || errors.Is(failure, ErrReplaced) && replaced(s.health.files[:1]) == nil {
		return s.release()
	}
	select {
	case err := <-s.health.failed: // not yet reported
		return err
	default:
		return nil
	}
}

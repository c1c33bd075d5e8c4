package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"runtime"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// reader is a connection that only reads, with its statements.
type reader struct {
	*connection
	pet, pets, petsByStatus, key, keys, ping, lastBackup *sql.Stmt
}

func newReader(ctx context.Context, db *sql.DB) (*reader, error) {
	c, err := connect(ctx, db, dbfile.ReaderPragmas)
	if err != nil {
		return nil, err
	}
	r := &reader{
		connection:   c,
		pet:          c.prepare(ctx, selectPet),
		pets:         c.prepare(ctx, selectPets),
		petsByStatus: c.prepare(ctx, selectPetsByStatus),
		key:          c.prepare(ctx, selectKey),
		keys:         c.prepare(ctx, selectKeys),
		ping:         c.prepare(ctx, "SELECT (SELECT name FROM pets ORDER BY id DESC LIMIT 1), (SELECT name FROM keys LIMIT 1)"),
		lastBackup:   c.prepare(ctx, "SELECT max(finished_at) FROM backups"),
	}
	if c.err != nil {
		return nil, errors.Join(c.err, c.close())
	}
	return r, nil
}

// readers are the connections that read.
type readers struct {
	db     *sql.DB
	shared chan *reader
	keys   chan *reader // one, so that readers of large pages keep no key waiting
}

// openReaders opens as many readers as could work at once, and a few, since a
// reader may wait for the disk. Each holds at most 2 MiB of pages.
func openReaders(ctx context.Context, address string) (*readers, error) {
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return nil, err
	}
	r := &readers{db: db}
	if r.shared, err = openPool(ctx, db, min(max(4, runtime.GOMAXPROCS(0)), 8)); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if r.keys, err = openPool(ctx, db, 1); err != nil {
		return nil, errors.Join(err, closePool(r.shared), db.Close())
	}
	return r, nil
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

// close waits for the readers to be free and closes them. A call that asks for one
// later gets ErrClosed.
func (r *readers) close() error {
	return errors.Join(closePool(r.shared), closePool(r.keys), r.db.Close())
}

func closePool(pool chan *reader) error {
	var errs []error
	for range cap(pool) {
		errs = append(errs, (<-pool).close())
	}
	close(pool)
	return errors.Join(errs...)
}

// readWith runs f with a reader of the pool. It waits for a reader no longer than
// ctx. f itself is not interrupted: it reads at most a page of pets, and SQLite's
// interruption would cost a goroutine a query.
func readWith(ctx context.Context, pool chan *reader, state *fileState, f func(*reader) error) error {
	select {
	case r, open := <-pool:
		if !open {
			return pets.ErrClosed
		}
		defer func() { pool <- r }()
		err := f(r)
		state.met(err)
		return translate(err)
	case <-ctx.Done():
		return pets.ErrGaveUp
	}
}

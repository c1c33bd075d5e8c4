package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/pets"
)

const (
	outageWait  = 3 * time.Second  // how long to retry a call that was not executed
	callTimeout = 10 * time.Second // for a call whose context has no deadline

	firstPause, lastPause = 5 * time.Millisecond, 80 * time.Millisecond
)

// statement runs SQL on a connection. It may be called several times, so it must
// be idempotent.
type statement func(context.Context, *pgx.Conn) error

// write runs a statement that changes the database.
func (s *Store) write(ctx context.Context, st statement) error { return s.run(ctx, true, st) }

// read runs a statement that changes nothing.
func (s *Store) read(ctx context.Context, st statement) error { return s.run(ctx, false, st) }

// run runs a statement until it succeeds, returns no row or fails permanently,
// or until ctx is done. It gives up after outageWait as long as nothing was
// executed. Once a write may have been executed, it keeps trying, because only
// a success settles the outcome.
func (s *Store) run(ctx context.Context, write bool, st statement) error {
	if s.closed.Load() {
		return pets.ErrClosed
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, callTimeout)
		defer cancel()
	}
	giveUp := time.Now().Add(outageWait)
	unknown := false // whether an attempt may have changed the database
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := s.attempt(ctx, write, giveUp, st)
		if err == nil || errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		o := outcomeOf(err)
		if o == maybeExecuted && write {
			unknown = true
			giveUp, _ = ctx.Deadline()
		}
		if o == failed || time.Now().After(giveUp) || s.closed.Load() || !sleep(ctx, pause) {
			return translate(err, o, unknown)
		}
	}
}

// attempt runs a statement once.
func (s *Store) attempt(ctx context.Context, write bool, acquireBy time.Time, st statement) error {
	p := s.pools.Load()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var server atomic.Value // see watch
	server.Store(p.server.Load())
	defer s.watch(ctx, cancel, p, &server).Stop()
	pooled, err := acquire(ctx, cancel, p, write, acquireBy)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAcquired, err)
	}
	defer pooled.Release()
	c := pooled.Conn()
	server.Store(serverOf(c))
	if write {
		err = failOnWarning(c.PgConn(), func() error { return st(ctx, c) })
	} else {
		err = st(ctx, c)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "25006" {
		disconnect(c) // the server is now a standby, and the pool would reuse the connection
	}
	return err
}

// acquire acquires a connection from p, or cancels ctx at the time by.
func acquire(ctx context.Context, cancel context.CancelFunc, p *pools, write bool, by time.Time) (*pgxpool.Conn, error) {
	pool := p.reads
	if write {
		pool = p.writes
	}
	defer time.AfterFunc(time.Until(by), cancel).Stop()
	return pool.Acquire(ctx)
}

// sleep waits for about d. It returns false if ctx is done.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d/2 + rand.N(d)):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	outageWait  = 3 * time.Second  // how long to retry a call that was not executed
	callTimeout = 10 * time.Second // for a call whose context has no earlier deadline

	firstPause, lastPause = 5 * time.Millisecond, 80 * time.Millisecond
)

// statement runs SQL on a connection. It may be called several times.
type statement func(context.Context, *pgx.Conn) error

// read runs a statement that changes nothing.
func (s *Store) read(ctx context.Context, st statement) error { return s.run(ctx, s.reads, true, st) }

// write runs a statement that changes the database and may be executed twice.
func (s *Store) write(ctx context.Context, st statement) error {
	return s.run(ctx, s.writes, true, failOnWarning(st))
}

// writeOnce runs a statement that must not be executed twice.
func (s *Store) writeOnce(ctx context.Context, st statement) error {
	return s.run(ctx, s.writes, false, failOnWarning(st))
}

// run runs a statement until it succeeds, returns no row or fails permanently. It
// gives up after outageWait as long as nothing was executed. If a write may have
// been executed, it gives up at once, or if the write is repeatable, when ctx is
// done, because only a success settles the outcome.
func (s *Store) run(ctx context.Context, pool *pgxpool.Pool, repeatable bool, st statement) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	giveUp := time.Now().Add(outageWait)
	unknown := false // whether an attempt may have changed the database
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := attempt(ctx, pool, giveUp, st)
		if err == nil || errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		o := outcomeOf(err)
		if o == maybeExecuted && pool == s.writes {
			unknown = true
			giveUp, _ = ctx.Deadline()
		}
		if o == failed || unknown && !repeatable || time.Now().After(giveUp) || s.closed.Load() || !sleep(ctx, pause) {
			return translate(err, o, unknown)
		}
	}
}

// attempt runs a statement once.
func attempt(ctx context.Context, pool *pgxpool.Pool, acquireBy time.Time, st statement) error {
	pooled, err := acquire(ctx, pool, acquireBy)
	if err != nil {
		return err
	}
	defer pooled.Release()
	c := pooled.Conn()
	err = st(ctx, c)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "25006" {
		disconnect(c) // the server is now a standby, and the pool would reuse the connection
	}
	return err
}

// acquire acquires a connection, or fails with errNotAcquired.
func acquire(ctx context.Context, pool *pgxpool.Pool, by time.Time) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	c, err := pool.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotAcquired, err)
	}
	return c, nil
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

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/pets"
)

const (
	// outageWait is how long a call that was not executed is tried again. It is
	// longer than a promotion takes and shorter than a client waits for a 503.
	outageWait = 3 * time.Second

	// callTimeout bounds a call whose context has no deadline.
	callTimeout = 10 * time.Second

	firstPause, lastPause = 5 * time.Millisecond, 80 * time.Millisecond
)

// statement runs SQL on a connection. It may be called several times, and its
// effects together must be those of one call.
type statement func(context.Context, *pgx.Conn) error

// write runs a statement that changes the database.
func (s *Store) write(ctx context.Context, st statement) error { return s.run(ctx, true, st) }

// read runs a statement that changes nothing.
func (s *Store) read(ctx context.Context, st statement) error { return s.run(ctx, false, st) }

// run runs a statement until it succeeds, fails for good, or ctx ends. While
// nothing has been executed it gives up after outageWait. Once a write may have
// been executed it goes on, because only success can tell.
func (s *Store) run(ctx context.Context, write bool, st statement) error {
	if !s.begin() {
		return pets.ErrClosed
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	unknown := false // whether an attempt may have changed the database
	giveUp := time.Now().Add(outageWait)
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		acquireBy := giveUp
		if unknown {
			acquireBy = time.Now().Add(callTimeout) // ctx ends before
		}
		err := s.attempt(ctx, write, acquireBy, st)
		if err == nil {
			return nil
		}
		outcome := outcomeOf(err)
		if outcome == maybeExecuted && write {
			unknown = true
		}
		if outcome == invalid || outcome == failed || !unknown && time.Now().After(giveUp) || !sleep(ctx, pause) {
			return translate(err, outcome, unknown)
		}
	}
}

// attempt runs a statement once. A WARNING during a write is an error: the wait
// for the standby may have been cancelled, and then the commit is on the primary
// alone although the server reports success.
func (s *Store) attempt(ctx context.Context, write bool, acquireBy time.Time, st statement) error {
	p := s.pools.Load()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()

	conn, err := s.acquire(ctx, p, write, acquireBy)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAcquired, err)
	}
	defer conn.Release()
	defer s.watch(ctx, p, serverOf(conn.Conn())).Stop()
	data := conn.Conn().PgConn().CustomData()
	delete(data, warning)
	err = st(ctx, conn.Conn())
	if text, warned := data[warning]; warned && write && err == nil {
		err = fmt.Errorf("%w: %v", errWarned, text)
	}
	if isReadOnly(err) {
		disconnect(conn.Conn()) // or the pool would use it again
	}
	return err
}

func (s *Store) acquire(ctx context.Context, p *pools, write bool, by time.Time) (*pgxpool.Conn, error) {
	pool := p.reads
	if write {
		pool = p.writes
	}
	defer s.watch(ctx, p, p.server.Load().(string)).Stop()
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	return pool.Acquire(ctx)
}

// sleep waits about d and reports whether ctx still runs.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d/2 + rand.N(d)):
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

var (
	errNotAcquired = errors.New("no connection")
	errWarned      = errors.New("the server warned during the write")
)

package postgres

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/petstore"
)

// retryFor bounds a call whose context has no deadline. Requests have the
// edge's, 8 s.
const retryFor = 10 * time.Second

// The pauses between tries grow from the one to the other: after a promotion
// the first try comes soon, and a server that is away is not stormed.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = 100 * time.Millisecond
)

// The states of a write. A caller who leaves withdraws one that waits; of one
// that was sent, nobody knows the outcome until the server tells.
const (
	waiting int32 = iota
	sent
	withdrawn
)

// statement is one that may be tried again: again tells whether a try before
// may have been executed.
type statement[T any] func(ctx context.Context, c *pgx.Conn, again bool) (T, error)

// write runs f, again and again where the outcome of a try is unknown or it was
// not executed, until ctx ends. Therefore f must do nothing the second time.
//
// A caller who leaves does not end the try that is under way. Cancelling it
// would end the server's wait for its standby, and the commit would stand on
// the primary alone; and a server that waits for a standby would have, of every
// caller who gave up, one more session that waits. So the try keeps its
// connection, and the pool bounds how many there are.
func write[T any](ctx context.Context, s *Store, f statement[T]) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	var none T
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return none, errClosed
	}
	s.writing.Add(1)
	s.mu.RUnlock()

	ctx, cancel := context.WithTimeout(ctx, retryFor)
	var state atomic.Int32
	done := make(chan outcome, 1)
	s.workers.run(func() {
		defer s.writing.Done()
		defer cancel()
		v, err := persist(ctx, s, &state, f)
		done <- outcome{v, err}
	})
	select {
	case o := <-done:
		return o.value, o.err
	case <-ctx.Done():
	}
	withdrew := state.CompareAndSwap(waiting, withdrawn)
	select {
	case o := <-done: // both were ready
		return o.value, o.err
	default:
	}
	if withdrew {
		return none, errGaveUp
	}
	return none, errUnknown(ctx.Err())
}

func errUnknown(cause error) error {
	return &petstore.Error{Kind: petstore.Internal, Message: "the database has not said whether it stored the write", Err: cause}
}

// persist tries f until there is an outcome.
func persist[T any](ctx context.Context, s *Store, state *atomic.Int32, f statement[T]) (value T, err error) {
	began, again := time.Now(), false
	for tries := 0; ; tries++ {
		err = s.with(ctx, &s.writes, func(p *pools, c *pgxpool.Conn) error {
			if !state.CompareAndSwap(waiting, sent) && !again {
				return errGaveUp
			}
			return warned(c.Conn(), func() (err error) {
				value, err = f(p.ctx, c.Conn(), again)
				return err
			})
		})
		if err == nil {
			return value, nil
		}
		switch classOf(err) {
		case unknown:
			again = true
		case notExecuted:
			if !again {
				state.CompareAndSwap(sent, waiting)
				if s.writes.hopeless(began) {
					return value, translate(err)
				}
			}
		default:
			if again && petstore.KindOf(err) == petstore.Unavailable { // closed meanwhile
				err = errUnknown(err)
			}
			return value, translate(err)
		}
		if !pause(ctx, tries) {
			if again {
				err = errUnknown(err)
			}
			return value, translate(err)
		}
	}
}

// read runs f until it succeeds or ctx ends. The query itself ends at ctx's
// deadline and not with its caller, since ending it would cost the connection.
func read(ctx context.Context, s *Store, f func(context.Context, *pgxpool.Conn) error) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(retryFor)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	began := time.Now()
	for tries := 0; ; tries++ {
		err := s.with(ctx, &s.reads, func(p *pools, c *pgxpool.Conn) error {
			ctx, cancel := context.WithDeadline(p.ctx, deadline)
			defer cancel()
			return f(ctx, c)
		})
		if err == nil {
			return nil
		}
		hopeless := false
		switch classOf(err) {
		case unknown:
		case notExecuted:
			hopeless = s.reads.hopeless(began)
		default:
			return translate(err)
		}
		if hopeless || time.Now().After(deadline) || !pause(ctx, tries) {
			// A read that did not come about has done nothing.
			return &petstore.Error{Kind: petstore.Unavailable, Message: "the database is unavailable", Err: err}
		}
	}
}

// ping looks once, and once more where the connection had died unnoticed.
func (s *Store) ping(ctx context.Context, l *lane) error {
	for tries := 0; ; tries++ {
		var standby bool
		err := s.with(ctx, l, func(_ *pools, c *pgxpool.Conn) error {
			return c.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby)
		})
		switch {
		case err == nil && !standby:
			return nil
		case err == nil:
			return &petstore.Error{Kind: petstore.Unavailable, Message: "the server is no primary"}
		case tries > 0 || ctx.Err() != nil || classOf(err) == notExecuted:
			return &petstore.Error{Kind: petstore.Unavailable, Message: "no writable primary can be reached", Err: err}
		}
	}
}

// with runs f with a connection of the lane.
func (s *Store) with(ctx context.Context, l *lane, f func(*pools, *pgxpool.Conn) error) error {
	if s.isClosed() {
		return errClosed
	}
	p := s.current.Load()
	var on atomic.Pointer[string]
	defer s.watch(p, &on)()
	c, err := acquire(ctx, l, p)
	if err != nil {
		return acquireError{err}
	}
	defer c.Release()
	if server, ok := c.Conn().PgConn().CustomData()[connectedTo].(*string); ok {
		on.Store(server)
	}
	err = f(p, c)
	if isDemoted(err) {
		// Released open, it would be used again.
		closing, cancel := context.WithTimeout(p.ctx, connectTimeout)
		defer cancel()
		err = errors.Join(err, c.Conn().Close(closing))
	}
	return err
}

func acquire(ctx context.Context, l *lane, p *pools) (*pgxpool.Conn, error) {
	if !l.outage.admit() {
		return nil, errOutage
	}
	start := time.Now()
	waiting, cancel := context.WithTimeout(ctx, outageWait)
	defer cancel()
	c, err := l.pick(p).Acquire(waiting)
	switch {
	case err == nil:
		l.outage.end()
	case ctx.Err() == nil && p.ctx.Err() == nil: // neither the caller nor the pool has gone
		l.outage.fail(start)
	}
	return c, err
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// pause waits before the next try, and reports false where ctx ends first.
func pause(ctx context.Context, tries int) bool {
	most := min(firstPause<<min(tries, 10), lastPause)
	t := time.NewTimer(most/2 + rand.N(most/2))
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	outageWait  = 3 * time.Second  // how long to wait for a connection, and to retry a call that was not executed
	callTimeout = 10 * time.Second // for a call whose context has no earlier deadline
	retryPause  = 50 * time.Millisecond

	bridgedOutage = 30 * time.Second // how long Ping succeeds while the server is unreachable
)

// statement runs SQL on a connection. It may be called several times.
type statement func(context.Context, *pgx.Conn) error

// read runs a statement that changes nothing.
func (s *Store) read(ctx context.Context, st statement) error { return s.run(ctx, s.reads, true, st) }

// write runs a statement that changes the database and may be executed twice.
func (s *Store) write(ctx context.Context, st statement) error { return s.run(ctx, s.writes, true, st) }

// writeOnce runs a statement that must not be executed twice.
func (s *Store) writeOnce(ctx context.Context, st statement) error {
	return s.run(ctx, s.writes, false, st)
}

// run runs a statement until it succeeds, returns no row or fails permanently. It gives up
// after outageWait if nothing was executed. If a write may have been executed, it gives up
// at once, or if the write is repeatable, with ctx: only a success settles the outcome.
func (s *Store) run(ctx context.Context, pool *pgxpool.Pool, repeatable bool, st statement) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	unknown := false // whether an attempt may have changed the database
	var cause error  // of the failure, which the last attempt may not learn in time
	for {
		err := s.attempt(ctx, pool, st)
		if err == nil || errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		e := effectOf(err)
		if cause == nil || !errors.Is(err, errNotAcquired) || !errors.Is(err, context.DeadlineExceeded) {
			cause = err
		}
		if e == maybeExecuted && pool == s.writes {
			unknown = true
		}
		waited := !unknown && time.Since(began) > outageWait
		if e == rejected || unknown && !repeatable || waited || s.closed.Load() || ctx.Err() != nil {
			return translate(cause, e, unknown)
		}
		time.Sleep(retryPause/2 + rand.N(retryPause))
	}
}

// attempt runs a statement once. A write fails if the server sends a WARNING
// meanwhile. Such a warning may mean that the wait for a standby was canceled: the
// server reports success, but the commit is only on the primary.
func (s *Store) attempt(ctx context.Context, pool *pgxpool.Pool, st statement) error {
	acquireCtx, cancel := context.WithTimeout(ctx, outageWait)
	defer cancel()
	pooled, err := pool.Acquire(acquireCtx)
	if codeOf(err) == "53300" { // too_many_connections, of which the other pool may hold some unused
		for _, other := range []*pgxpool.Pool{s.reads, s.writes} {
			if other != pool {
				other.Reset()
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotAcquired, err)
	}
	defer pooled.Release()
	c := pooled.Conn()
	data := c.PgConn().CustomData()
	delete(data, warning)
	err = st(ctx, c)
	if text, warned := data[warning]; warned && err == nil && pool == s.writes {
		err = fmt.Errorf("%w: %v", errWarned, text)
	}
	if codeOf(err) == "25006" { // read_only_sql_transaction
		disconnect(c) // the server is now a standby, and the pool would reuse the connection
	}
	return err
}

// warning is the key in a connection's CustomData for the text of the last WARNING.
const warning = "warning"

// keepWarning keeps every WARNING but the one that transaction IDs will run out, which
// comes with each write for weeks and is sent before the commit. Citus passes those
// of its nodes on as DEBUG, but with their code, which is of class 01.
func keepWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if (n.SeverityUnlocalized == "WARNING" || strings.HasPrefix(n.Code, "01")) && n.Routine != "GetNewTransactionId" {
		c.CustomData()[warning] = n.Message
	}
}

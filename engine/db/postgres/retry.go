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

	"example.com/petstore/engine/fault"
)

const (
	outageWait  = 3 * time.Second  // how long to wait for a connection, and to retry a call that was not executed
	callTimeout = 10 * time.Second // for a call whose context has no earlier deadline
	retryPause  = 50 * time.Millisecond

	bridgedOutage = 30 * time.Second // how long Ping succeeds while the server is unreachable
	closeTimeout  = 5 * time.Second  // leaves a process that stops the time to say what failed
)

// Statement runs SQL on a connection. It may be called several times.
type Statement func(context.Context, *pgx.Conn) error

// Read runs a statement that changes nothing.
func (d *DB) Read(ctx context.Context, st Statement) error { return d.run(ctx, mode{}, st) }

// Write runs a statement that changes the database and may be executed twice.
func (d *DB) Write(ctx context.Context, st Statement) error {
	return d.run(ctx, mode{writes: true}, st)
}

// WriteOnce runs a statement that must not be executed twice.
func (d *DB) WriteOnce(ctx context.Context, st Statement) error {
	return d.run(ctx, mode{writes: true, once: true}, st)
}

// mode says whether a statement changes the database, and whether it must not be executed twice.
type mode struct{ writes, once bool }

// policy returns for how long to retry a call after the worst effect of its attempts, and how it fails then.
func policy(worst effect, m mode) (retry time.Duration, kind fault.Kind, text string) {
	switch {
	case worst == rejected:
		return 0, fault.Internal, "the database failed"
	case worst == notExecuted, !m.writes:
		return outageWait, fault.Unavailable, "the database is unavailable"
	case m.once:
		return 0, fault.Internal, "the outcome of the write is unknown"
	}
	return callTimeout, fault.Internal, "the outcome of the write is unknown" // another attempt may settle it
}

// run attempts a statement until it succeeds or has been retried for long enough. Its errors have
// kinds of package fault: Unavailable only if nothing was done.
func (d *DB) run(ctx context.Context, m mode, st Statement) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began, worst := time.Now(), notExecuted
	var cause error
	for {
		err := d.attempt(ctx, m.writes, st)
		if err == nil || fault.ByCaller(err) {
			return err
		}
		worst = max(worst, effectOf(err))
		timedOut := errors.Is(err, errNotExecuted) && errors.Is(err, context.DeadlineExceeded)
		if cause == nil || !timedOut { // a wait that timed out has no cause
			cause = err
		}
		retry, kind, text := policy(worst, m)
		if ctx.Err() != nil || d.closed.Load() || time.Since(began) >= retry {
			return fault.Wrap(kind, fmt.Errorf("%s: %w", text, cause))
		}
		time.Sleep(retryPause/2 + rand.N(retryPause))
	}
}

// attempt runs a statement once. A write fails if the server sends a WARNING: the wait for a standby
// may have been canceled, in which case the server reports success, but only the primary has the commit.
func (d *DB) attempt(ctx context.Context, writes bool, st Statement) error {
	acquireCtx, cancel := context.WithTimeout(ctx, outageWait)
	defer cancel()
	half, of := d.reads, "reads"
	if writes {
		half, of = d.writes, "writes"
	}
	if err := half.Acquire(acquireCtx, 1); err != nil {
		return fmt.Errorf("%w: all connections for %s are in use: %w", errNotExecuted, of, err)
	}
	defer half.Release(1)
	primary := d.known.primary.Load()
	pooled, err := d.pool.Acquire(acquireCtx)
	if err != nil {
		d.known.primary.CompareAndSwap(primary, nil) // the next attempt searches
		return fmt.Errorf("%w: no connection: %w", errNotExecuted, err)
	}
	defer pooled.Release()
	c := pooled.Conn()
	if err := sessionOf(c).check(writes); err != nil {
		_ = c.Close(ctx) // a new one may have other settings
		return fmt.Errorf("%w: %w", errNotExecuted, err)
	}
	data := c.PgConn().CustomData()
	delete(data, warning)
	err = st(ctx, c)
	if text, warned := data[warning]; warned && writes && (err == nil || fault.ByCaller(err)) {
		err = fmt.Errorf("the server warned during the write: %v", text)
	}
	if answer(err).Code == "25006" { // read_only_sql_transaction
		_ = c.Close(ctx) // the server is now a standby, and the pool would reuse the connection
	}
	return err
}

// warning is the key in a connection's CustomData for the text of the last WARNING.
const warning = "warning"

// keepWarning stores every WARNING, except that transaction IDs will run out, which each write gets
// for weeks, before its commit. Citus sends the warnings of its nodes as DEBUG, with a code of class 01.
func keepWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if (n.SeverityUnlocalized == "WARNING" || strings.HasPrefix(n.Code, "01")) && n.Routine != "GetNewTransactionId" {
		c.CustomData()[warning] = n.Message
	}
}

// effect is what a statement that failed has done, from the mildest to the worst.
type effect int

const (
	notExecuted   effect = iota // it was not executed; a retry may succeed
	maybeExecuted               // it may have been executed, or may still be
	rejected                    // a retry fails, too, until someone fixes the cause
)

// errNotExecuted marks an error that came before the statement, or before its commit.
var errNotExecuted = errors.New("the last attempt did nothing")

// NotCommitted marks the error of a statement in a transaction whose COMMIT was not sent.
func NotCommitted(err error) error {
	if err != nil && effectOf(err) == maybeExecuted {
		return fmt.Errorf("%w: %w", errNotExecuted, err)
	}
	return err
}

// effectOf classifies an error from attempt.
func effectOf(err error) effect {
	// pgx calls "conn closed" safe to retry even if the connection broke after the statement was sent.
	notSent := pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed)
	if notSent || errors.Is(err, errNotExecuted) {
		return notExecuted
	}
	if _, unreadable := errors.AsType[pgx.ScanArgError](err); unreadable { // by a setting of the user
		return rejected
	}
	e := answer(err)
	if e.SeverityUnlocalized == "PANIC" { // may follow the commit
		return maybeExecuted
	}
	for _, key := range []string{e.Code, e.Code[:min(2, len(e.Code))], e.SeverityUnlocalized} {
		if effect, listed := effects[key]; listed {
			return effect
		}
	}
	return maybeExecuted // EOF, deadline, warning; another FATAL may follow the commit, too
}

// effects has the effects of the server's errors by code, class (the code's first two characters) or severity.
var effects = map[string]effect{
	"08":    maybeExecuted, // connection_exception
	"XX":    maybeExecuted, // internal_error
	"40003": maybeExecuted, // statement_completion_unknown
	"40":    notExecuted,   // transaction_rollback
	"53":    notExecuted,   // insufficient_resources
	"25P03": notExecuted,   // idle_in_transaction_session_timeout: rolled back
	"57P03": notExecuted,   // cannot_connect_now
	"57P05": notExecuted,   // idle_session_timeout: ends only sessions that wait for a statement
	"57014": notExecuted,   // query_canceled; after the commit it would be a WARNING
	"25006": notExecuted,   // read_only_sql_transaction: the server is no longer the primary
	"55P03": notExecuted,   // lock_not_available
	"26000": notExecuted,   // invalid_sql_statement_name: another server behind a pooler
	"ERROR": rejected,      // such as a missing table or privilege
	"0A000": notExecuted,   // feature_not_supported: cached plan must not change result type
}

// answer returns the error that the server has sent, or an empty one.
func answer(err error) *pgconn.PgError {
	e := &pgconn.PgError{}
	_ = errors.As(err, &e)
	return e
}

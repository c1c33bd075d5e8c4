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

// Read calls f, which changes nothing, perhaps several times.
func (d *DB) Read(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	return d.run(ctx, mode{}, f)
}

// Write calls f, whose statements may be executed twice, perhaps several times.
func (d *DB) Write(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	return d.run(ctx, mode{writes: true}, f)
}

// WriteOnce calls f, whose statements must not be executed twice, again only if they were not executed.
func (d *DB) WriteOnce(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	return d.run(ctx, mode{writes: true, once: true}, f)
}

// mode says whether a statement changes the database, and whether it must not be executed twice.
type mode struct{ writes, once bool }

// run attempts a statement until it succeeds or has been retried for long enough.
func (d *DB) run(ctx context.Context, m mode, st func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began, unknown := time.Now(), false // whether an attempt may have written
	var cause error
	for {
		err := d.attempt(ctx, m.writes, st)
		if err == nil || fault.ByCaller(err) {
			d.unreachableSince.Store(0)
			return err
		}
		d.unreachableSince.CompareAndSwap(0, began.UnixNano())
		timedOut := errors.Is(err, errNotExecuted) && errors.Is(err, context.DeadlineExceeded)
		if cause == nil || !timedOut { // a wait that timed out has no cause
			cause = err
		}
		effect := effectOf(err)
		unknown = unknown || m.writes && effect == maybeExecuted
		ended := ctx.Err() != nil || d.closed.Load()
		switch {
		case effect == rejected:
			return fault.Wrap(fault.Internal, fmt.Errorf("the database failed: %w", cause))
		case unknown && (m.once || ended): // otherwise another attempt may settle it
			return fault.Wrap(fault.Internal, fmt.Errorf("the outcome of the write is unknown: %w", cause))
		case !unknown && (ended || time.Since(began) >= outageWait):
			return fault.Wrap(fault.Unavailable, fmt.Errorf("the database is unavailable: %w", cause))
		}
		time.Sleep(retryPause/2 + rand.N(retryPause))
	}
}

// attempt runs a statement once. A write fails if the server sends a WARNING: the wait for a standby
// may have been canceled, in which case the server reports success, but only the primary has the commit.
func (d *DB) attempt(ctx context.Context, writes bool, st func(context.Context, *pgx.Conn) error) error {
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
	primary := d.primary.Load()
	pooled, err := d.pool.Acquire(acquireCtx)
	if err != nil {
		d.primary.CompareAndSwap(primary, nil) // the next attempt searches
		return fmt.Errorf("%w: no connection: %w", errNotExecuted, err)
	}
	defer pooled.Release()
	c := pooled.Conn()
	if err := sessionOf(c).check(writes); err != nil {
		_ = c.Close(ctx) // a new one may have other settings
		return fmt.Errorf("%w: %w", errNotExecuted, err)
	}
	data := c.PgConn().CustomData()
	delete(data, "warning")
	err = st(ctx, c)
	if text, warned := data["warning"]; warned && writes && (err == nil || fault.ByCaller(err)) {
		err = fmt.Errorf("the server warned during the write: %v", text)
	}
	if serverError(err).Code == "25006" { // read_only_sql_transaction
		_ = c.Close(ctx) // the server is now a standby, and the pool would reuse the connection
	}
	return err
}

// keepWarning stores every WARNING, except that transaction IDs will run out, which each write gets
// for weeks, before its commit. Citus sends the warnings of its nodes as DEBUG, with a code of class 01.
func keepWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if (n.SeverityUnlocalized == "WARNING" || strings.HasPrefix(n.Code, "01")) && n.Routine != "GetNewTransactionId" {
		c.CustomData()["warning"] = n.Message
	}
}

// effect is what a statement that failed has done.
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
	if errors.Is(err, errNotExecuted) || pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) {
		return notExecuted
	}
	if _, unreadable := errors.AsType[pgx.ScanArgError](err); unreadable { // by a setting of the user
		return rejected
	}
	e := serverError(err)
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

// serverError returns the error that the server has sent, or an empty one.
func serverError(err error) *pgconn.PgError {
	e := &pgconn.PgError{}
	_ = errors.As(err, &e)
	return e
}

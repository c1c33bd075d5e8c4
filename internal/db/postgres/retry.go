package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/fault"
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
func (d *DB) Read(ctx context.Context, st Statement) error { return d.run(ctx, false, true, st) }

// Write runs a statement that changes the database and may be executed twice.
func (d *DB) Write(ctx context.Context, st Statement) error { return d.run(ctx, true, true, st) }

// WriteOnce runs a statement that must not be executed twice.
func (d *DB) WriteOnce(ctx context.Context, st Statement) error { return d.run(ctx, true, false, st) }

// run runs a statement until it succeeds or there is a reason to stop. Its errors have the
// kinds of package fault: Unavailable if surely nothing was done.
func (d *DB) run(ctx context.Context, writes, repeatable bool, st Statement) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	unknown := false // whether an attempt may have changed the database
	var last error   // the last that says why
	for {
		err := d.attempt(ctx, writes, st)
		if err == nil || fault.ByCaller(err) {
			return err
		}
		switch effectOf(err) {
		case rejected:
			return fault.Wrap(fault.Internal, fmt.Errorf("the database failed: %w", err))
		case maybeExecuted:
			unknown = unknown || writes
		}
		if last == nil || !errors.Is(err, errNotExecuted) || !errors.Is(err, context.DeadlineExceeded) {
			last = err // an attempt that was cut off did not learn why there is no connection
		}
		ended := ctx.Err() != nil || d.closed.Load()
		if unknown && (ended || !repeatable) { // until then, a success would settle the outcome
			return fault.Wrap(fault.Internal, fmt.Errorf("the outcome of the write is unknown: %w", last))
		}
		if !unknown && (ended || time.Since(began) > outageWait) {
			return fault.Wrap(fault.Unavailable, fmt.Errorf("the database is unavailable: %w", last))
		}
		time.Sleep(retryPause/2 + rand.N(retryPause))
	}
}

// attempt runs a statement once. A write fails if the server sends a WARNING meanwhile, which may
// mean that the wait for a standby was canceled: the server reports success, but the commit is
// only on the primary.
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
	pooled, err := d.pool.Acquire(acquireCtx)
	if err != nil {
		return fmt.Errorf("%w: no connection: %w", errNotExecuted, err)
	}
	defer pooled.Release()
	c := pooled.Conn()
	if err := sessionOf(c).check(writes); err != nil {
		disconnect(c) // a new one may have other settings
		return fmt.Errorf("%w: %w", errNotExecuted, err)
	}
	data := c.PgConn().CustomData()
	delete(data, warning)
	err = st(ctx, c)
	if text, warned := data[warning]; warned && writes && (err == nil || fault.ByCaller(err)) {
		err = fmt.Errorf("the server warned during the write: %v", text)
	}
	if codeOf(err) == "25006" { // read_only_sql_transaction
		disconnect(c) // the server is now a standby, and the pool would reuse the connection
	}
	return err
}

// warning is the key in a connection's CustomData for the text of the last WARNING.
const warning = "warning"

// keepWarning keeps every WARNING except the one that transaction IDs will run out, which comes
// with each write for weeks, before the commit. Citus passes the warnings of its nodes on as DEBUG,
// but with their code, which is of class 01.
func keepWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if (n.SeverityUnlocalized == "WARNING" || strings.HasPrefix(n.Code, "01")) && n.Routine != "GetNewTransactionId" {
		c.CustomData()[warning] = n.Message
	}
}

// effect is what a statement that failed has done.
type effect int

const (
	maybeExecuted effect = iota // it may have been executed, or may still be
	notExecuted                 // it was not executed; a retry may succeed
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

// effectOf classifies an error from attempt. An ERROR from the server means
// that it rolled back; a FATAL or PANIC may come after the commit.
func effectOf(err error) effect {
	if errors.Is(err, errNotExecuted) {
		return notExecuted
	}
	if fault.ByCaller(err) {
		return rejected
	}
	if _, unreadable := errors.AsType[pgx.ScanArgError](err); unreadable {
		return rejected // such as text in a format that a setting of the user has changed
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		// pgx calls "conn closed" safe to retry even if the connection broke
		// after the statement was sent.
		if pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) {
			return notExecuted
		}
		return maybeExecuted // EOF, reset, deadline, warning
	}
	class := e.Code[:min(2, len(e.Code))]
	switch {
	case e.SeverityUnlocalized == "PANIC", // perhaps during the commit
		e.Code == "40003", class == "08", class == "XX": // the connection broke, or an internal error
		return maybeExecuted
	case class == "40", class == "53", slices.Contains(retryable, e.Code): // rolled back, or no resources
		return notExecuted
	case e.SeverityUnlocalized == "ERROR":
		return rejected // such as a missing table or privilege, or a value that Validate let through
	}
	return maybeExecuted // such as admin_shutdown
}

// retryable are the codes of other errors of statements that were not executed.
var retryable = []string{
	"57P03", // cannot_connect_now
	"57014", // query_canceled; after the commit it would be a WARNING
	"25006", // read_only_sql_transaction: the server is no longer the primary
	"55P03", // lock_not_available
	"26000", // invalid_sql_statement_name: another server behind a pooler
	"0A000", // feature_not_supported: cached plan must not change result type
}

// codeOf returns the code of an error of the server, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

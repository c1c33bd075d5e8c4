package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/pets"
)

// effect is what a statement that failed has done.
type effect int

const (
	maybeExecuted effect = iota // it may have been executed, or may still be
	notExecuted                 // it was not executed; a retry may succeed
	rejected                    // retries fail until someone fixes the cause
)

var (
	errNotAcquired = errors.New("no connection")
	errRolledBack  = errors.New("the transaction was rolled back")
	errWarned      = errors.New("the server warned during the write")
	errUnsettled   = errors.New("the pet of the idempotency key is not visible") // its commit goes on, or it was removed
)

// rolledBack marks the error of a transaction that was rolled back.
func rolledBack(err error) error {
	if err != nil && effectOf(err) == maybeExecuted {
		return fmt.Errorf("%w: %w", errRolledBack, err)
	}
	return err
}

// effectOf classifies an error from attempt. An ERROR from the server means
// that it rolled back; a FATAL or PANIC may come after the commit.
func effectOf(err error) effect {
	if errors.Is(err, errNotAcquired) || errors.Is(err, errRolledBack) {
		return notExecuted
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
		return maybeExecuted // EOF, reset, deadline, warning, errUnsettled
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

// translate converts the last error of a call to a *pets.Error. unknown means
// that an attempt may have been executed.
func translate(err error, e effect, unknown bool) error {
	switch {
	case e == rejected:
		return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: err}
	case unknown:
		return &pets.Error{Kind: pets.Internal, Message: "the outcome of the write is unknown", Err: err}
	}
	return &pets.Error{Kind: pets.Unavailable, Message: "the database is unavailable", Err: err}
}

// Errors of opening a database.
var (
	ErrNoDatabase    = errors.New("no such database")
	ErrMayNotMigrate = errors.New("its schema is out of date, and the user may not change it")
)

// codeOf returns the code of an error of the server, or "".
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// explainOpen formats an error of opening the database at dsn as one line.
func explainOpen(dsn string, err error) error {
	timedOut := pgconn.Timeout(err) && !errors.Is(err, context.Canceled) // which pgconn counts as one
	e, fromServer := errors.AsType[*pgconn.PgError](err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case fromServer && e.Code == "3D000": // invalid_catalog_name
		err = fmt.Errorf("%w: %s", ErrNoDatabase, e.Message)
	case fromServer && e.Code == "42501" && !connecting: // insufficient_privilege
		err = fmt.Errorf("%w: %s", ErrMayNotMigrate, e.Message)
	case fromServer:
		err = errors.New(e.Message)
	case connecting: // one line for each host
		lines := strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\t' })
		err = fmt.Errorf("no writable primary can be reached: %s", strings.Join(slices.Compact(lines), "; "))
	}
	if timedOut {
		err = fmt.Errorf("%w; if the network is slow, set connect_timeout=SECONDS in the address", err)
	}
	return fmt.Errorf("cannot open %s: %w", Redact(dsn), err)
}

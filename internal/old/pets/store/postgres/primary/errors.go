package primary

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Outcome is the effect of a failed statement that commits itself.
type Outcome int

// The outcomes of a failed statement.
const (
	MaybeExecuted Outcome = iota // it may have been executed, or may be a little later
	NotExecuted                  // it was not: the server is away or busy, and a later attempt may succeed
	BadInput                     // it was not, and never will be: the database refuses a value
	NeedsOperator                // it was not, and will not be until the database is repaired
)

// Error is an error with an outcome that the error itself does not tell.
type Error struct {
	Outcome Outcome
	Err     error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

var (
	// ErrClosed is the error of every call after Close.
	ErrClosed = notExecuted("the connection to the cluster is closed")

	// ErrGaveUp is the error of a call whose context ended before it was executed.
	ErrGaveUp = notExecuted("the caller gave up waiting for the database")

	errNoWorker = notExecuted("all connections to the database are in use")
	errOpen     = notExecuted("for some time no call has had a connection to the database")
)

func notExecuted(text string) error { return &Error{Outcome: NotExecuted, Err: errors.New(text)} }

// errWarned is the error of a write during which the server sent a WARNING. The
// important one says that the wait for the standby was cancelled: the commit is
// on the primary alone, and the server reports success.
var errWarned = errors.New("the server warned during the write")

// errStale is the error of a statement on an old primary.
var errStale = errors.New("a server on an older timeline ran the statement")

// OutcomeOf returns the outcome of any error of a statement. An ERROR of the
// server means that it rolled back; a FATAL may come after the commit.
func OutcomeOf(err error) Outcome {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Outcome
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return outcomeOfServer(e)
	}
	// In some query modes pgx says "conn closed", as if nothing had been sent,
	// where the connection broke after the statement was sent.
	if pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) {
		return NotExecuted
	}
	return MaybeExecuted // EOF, reset, a deadline, a warning
}

func outcomeOfServer(e *pgconn.PgError) Outcome {
	if e.SeverityUnlocalized == "PANIC" { // perhaps during the commit, as when the disk of the log is full (53100)
		return MaybeExecuted
	}
	switch e.Code {
	case "40003": // statement_completion_unknown
		return MaybeExecuted
	case "57P01", "57P02", "57P05": // admin_shutdown, crash_shutdown, idle_session_timeout: the connection ends
		return MaybeExecuted
	case "57P03", // cannot_connect_now
		"57014", // query_canceled, before the commit: after it there is only a WARNING
		"25006", // read_only_sql_transaction: this is no primary any more
		"55P03", // lock_not_available
		"26000": // invalid_sql_statement_name: another server behind a pooler
		return NotExecuted
	case "2200H": // sequence_generator_limit_exceeded: no caller sends an identifier
		return NeedsOperator
	case "0A000": // "cached plan must not change result type": pgx prepares it again
		return NotExecuted
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "XX": // connection_exception, internal_error
		return MaybeExecuted
	case "40", "53": // transaction_rollback, insufficient_resources
		return NotExecuted
	case "22", "23": // data_exception, integrity_constraint_violation
		return BadInput
	}
	if e.SeverityUnlocalized == "ERROR" {
		return NeedsOperator // 42: no such table or column, or no right to it; and the like
	}
	return MaybeExecuted
}

// isDemoted reports whether the connection must not be used again although it
// works: its server has become a standby.
func isDemoted(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "25006"
}

// isCrowded reports whether the server lives and only has no room for another
// connection.
func isCrowded(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && strings.HasPrefix(e.Code, "53")
}

// IsTimeout reports whether the server did not respond in time.
func IsTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err)
}

// warning is the key of a connection's data under which keepWarning stores the
// text of the server's last WARNING.
const warning = "petstore.warning"

func keepWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warning] = n.Message
	}
}

// FailOnWarning runs f, and returns an error with the outcome MaybeExecuted if
// the server warned meanwhile.
func FailOnWarning(c *pgx.Conn, f func() error) error {
	data := c.PgConn().CustomData()
	delete(data, warning)
	err := f()
	if message, ok := data[warning]; ok && err == nil {
		return fmt.Errorf("%w: %v", errWarned, message)
	}
	return err
}

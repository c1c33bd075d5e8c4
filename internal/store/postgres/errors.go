package postgres

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/pets"
)

// outcome is what became of a statement that failed.
type outcome int

const (
	maybeExecuted outcome = iota // it was executed, or was not, or will be shortly
	notExecuted                  // it was not, and may succeed later
	invalid                      // it was not, and never will be: the server rejects a value
	failed                       // it was not, and will not be until the database is repaired
)

// outcomeOf classifies an error of attempt. An ERROR of the server means that
// it rolled back; a FATAL or a PANIC may come after the commit.
func outcomeOf(err error) outcome {
	if errors.Is(err, errNotAcquired) {
		return notExecuted
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return outcomeOfServer(e)
	}
	// pgx calls "conn closed" safe even if the connection broke after sending.
	if pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) {
		return notExecuted
	}
	return maybeExecuted // EOF, reset, deadline, warning
}

func outcomeOfServer(e *pgconn.PgError) outcome {
	if e.SeverityUnlocalized == "PANIC" {
		return maybeExecuted // perhaps during the commit
	}
	switch e.Code {
	case "40003", // statement_completion_unknown
		"57P01", "57P02", "57P05": // admin_shutdown, crash_shutdown, idle_session_timeout
		return maybeExecuted
	case "57P03", // cannot_connect_now
		"57014", // query_canceled; after the commit it would be a WARNING
		"25006", // read_only_sql_transaction: the server is no longer the primary
		"55P03", // lock_not_available
		"26000", // invalid_sql_statement_name: another server behind a pooler
		"0A000": // cached plan must not change result type
		return notExecuted
	case "2200H": // sequence_generator_limit_exceeded
		return failed
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "XX": // connection_exception, internal_error
		return maybeExecuted
	case "40", "53": // transaction_rollback, insufficient_resources
		return notExecuted
	case "22", "23": // data_exception, integrity_constraint_violation
		return invalid
	}
	if e.SeverityUnlocalized == "ERROR" {
		return failed // no such table or column, no right to it, and the like
	}
	return maybeExecuted
}

// isReadOnly reports whether the server has become a standby.
func isReadOnly(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "25006"
}

// translate returns the domain's error for the last error of a call. unknown
// says that an earlier attempt may have been executed.
func translate(err error, o outcome, unknown bool) error {
	switch {
	case o == invalid:
		return &pets.Error{Kind: pets.Invalid, Message: "the database does not accept a value", Err: err}
	case o == failed:
		return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: err}
	case unknown:
		return &pets.Error{Kind: pets.Internal, Message: "the database has not said whether it stored the write", Err: err}
	}
	return &pets.Error{Kind: pets.Unavailable, Message: "the database is unavailable", Err: err}
}

// keepWarning stores the text of a WARNING in the connection, under the key
// warning.
func keepWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warning] = n.Message
	}
}

const warning = "petstore.warning"

// dialWords are the words of pgx and Go between a host and the reason why it
// cannot be reached. They name the host twice more.
var dialWords = regexp.MustCompile(` \([^)]*\): dial error: dial \w+ \S+: (connect: )?`)

// explainOpen makes one line for the operator of an error of Open.
func explainOpen(dsn string, err error) error {
	where := Redact(dsn)
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch e.Code {
		case "28P01", "28000":
			return fmt.Errorf("cannot open %s: the server refuses the user or the password", where)
		case "3D000":
			return fmt.Errorf("cannot open %s: there is no such database; create it with createdb -E UTF8", where)
		case "42501":
			return fmt.Errorf("cannot open %s: the user lacks a right (%s); make it the owner of the database", where, e.Message)
		case "42704", "22023":
			return fmt.Errorf("cannot open %s: the server does not know a parameter of the address: %s", where, e.Message)
		case "53300":
			return fmt.Errorf("cannot open %s: the server has no connection left; raise its max_connections or lower pool_max_conns", where)
		}
	}
	var reasons []string // pgx has a line for each way to connect, some of them twice
	for line := range strings.Lines(strings.Replace(err.Error(), "`: ", "`:\n", 1)) {
		if line = dialWords.ReplaceAllString(strings.TrimSpace(line), ": "); !slices.Contains(reasons, line) {
			reasons = append(reasons, line)
		}
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fmt.Errorf("cannot open %s: no writable primary can be reached: %s", where, strings.Join(reasons[1:], "; "))
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cannot open %s: the server did not respond in time", where)
	}
	return fmt.Errorf("cannot open %s: %s", where, strings.Join(reasons, "; "))
}

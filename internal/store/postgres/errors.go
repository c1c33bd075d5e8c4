package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/petstore"
)

// class says what an error of a single statement, which commits itself, means
// for it.
type class int

const (
	unknown      class = iota // it may have been executed, now or a little later
	notExecuted               // it was not, and may be later: a server is away or busy
	clientsFault              // it was not, and never will be: a value is not acceptable
	broken                    // it was not, and will not be until somebody mends the database
	answered                  // the store itself has given the answer
)

// acquireError is the failure to get a connection: nothing was sent.
type acquireError struct{ error }

func (e acquireError) Unwrap() error { return e.error }

// errWarned is the error of a write during which the server sent a WARNING. The
// one that matters says that the wait for the standby was cancelled: the commit
// is on the primary alone, and the server calls it a success.
var errWarned = errors.New("the server warned during the write")

// classOf classes every error that a statement can end with. An ERROR of the
// server means that the transaction was rolled back; a FATAL one may come after
// the commit.
func classOf(err error) class {
	if _, ok := errors.AsType[*petstore.Error](err); ok {
		return answered
	}
	if _, ok := errors.AsType[acquireError](err); ok {
		return notExecuted
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return classOfAnswer(pg)
	}
	// In some query modes pgx says "conn closed", as if nothing had been sent,
	// where the answer to what was sent breaks off.
	if pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) {
		return notExecuted
	}
	return unknown // EOF, reset, a deadline, a warning
}

func classOfAnswer(e *pgconn.PgError) class {
	if e.SeverityUnlocalized == "PANIC" { // perhaps amid the commit, as when the disk of the log is full (53100)
		return unknown
	}
	switch e.Code {
	case "40003": // statement_completion_unknown
		return unknown
	case "57P01", "57P02", "57P05": // admin_shutdown, crash_shutdown, idle_session_timeout: the connection ends
		return unknown
	case "57P03", // cannot_connect_now
		"57014", // query_canceled, before the commit: after it there is only a WARNING
		"25006", // read_only_sql_transaction: this is no primary any more
		"55P03", // lock_not_available
		"26000": // invalid_sql_statement_name: another server behind a pooler
		return notExecuted
	case "2200H": // sequence_generator_limit_exceeded: nobody sends an identifier
		return broken
	case "0A000": // "cached plan must not change result type": pgx prepares it anew
		return notExecuted
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "08", "XX": // connection_exception, internal_error
		return unknown
	case "40", "53": // transaction_rollback, insufficient_resources
		return notExecuted
	case "22", "23": // data_exception, integrity_constraint_violation
		return clientsFault
	}
	if e.SeverityUnlocalized == "ERROR" {
		return broken // 42: no such table or column, or no right to it; and the like
	}
	return unknown
}

// translate makes the domain's error of one that ends a statement for good.
func translate(err error) error {
	switch classOf(err) {
	case answered:
		return err
	case clientsFault:
		return &petstore.Error{Kind: petstore.Invalid, Message: "the database does not accept a value", Err: err}
	case notExecuted:
		return &petstore.Error{Kind: petstore.Unavailable, Message: "the database is unavailable", Err: err}
	default:
		return &petstore.Error{Kind: petstore.Internal, Message: "the database failed", Err: err}
	}
}

// isDemoted reports whether the connection must not be used again although it
// works: its server has become a standby.
func isDemoted(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "25006"
}

// isCrowded reports whether the server lives and only has no room for another
// connection.
func isCrowded(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && strings.HasPrefix(pg.Code, "53")
}

// isTimeout reports whether nobody has answered in time.
func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err)
}

var (
	errClosed = &petstore.Error{Kind: petstore.Unavailable, Message: "the store is closed"}
	errGaveUp = &petstore.Error{Kind: petstore.Unavailable, Message: "the caller gave up waiting for the store"}
)

// warning is where keepWarning leaves what the server warned of.
const warning = "petstore.warning"

func keepWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.SeverityUnlocalized == "WARNING" {
		c.CustomData()[warning] = n.Message
	}
}

// warned runs f and returns errWarned where the server warned meanwhile.
func warned(c *pgx.Conn, f func() error) error {
	data := c.PgConn().CustomData()
	delete(data, warning)
	err := f()
	if message, ok := data[warning]; ok && err == nil {
		return fmt.Errorf("%w: %v", errWarned, message)
	}
	return err
}

// oneLine joins the lines of an error, each once: pgx has one for every way to
// connect that it tried.
func oneLine(err error) string {
	var lines []string
	for line := range strings.Lines(strings.Replace(err.Error(), "`: ", "`:\n", 1)) {
		if line = strings.TrimSpace(line); !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "; ")
}

// explainOpen makes one sentence for the operator of an error of Open.
func explainOpen(address string, err error) error {
	where := Redact(address)
	reason := oneLine(err)
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "28P01", "28000":
			return fmt.Errorf("cannot open %s: the server refuses the user or the password", where)
		case "3D000":
			return fmt.Errorf("cannot open %s: there is no such database; create it with createdb -E UTF8", where)
		case "42501":
			return fmt.Errorf("cannot open %s: the user lacks a right (%s); make it the owner of the database", where, pg.Message)
		case "42704", "22023":
			return fmt.Errorf("cannot open %s: the server takes a parameter of the address for one of its own, and refuses it: %s", where, pg.Message)
		case "53300":
			return fmt.Errorf("cannot open %s: the server has no connection left; raise its max_connections or lower pool_max_conns", where)
		}
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		_, dials, _ := strings.Cut(reason, "; ") // without pgx's own introduction
		return fmt.Errorf("cannot open %s: no writable primary can be reached: %s", where, dials)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("cannot open %s: the server did not answer in time", where)
	}
	return fmt.Errorf("cannot open %s: %s", where, reason)
}

package primary

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestTheOutcomeOfEveryErrorIsKnown(t *testing.T) {
	ofServer := func(severity, code string) error {
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{SeverityUnlocalized: severity, Code: code})
	}
	for _, c := range []struct {
		err  error
		want Outcome
	}{
		// The connection broke, or the caller left, after sending.
		{io.EOF, MaybeExecuted},
		{io.ErrUnexpectedEOF, MaybeExecuted},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, MaybeExecuted},
		{context.DeadlineExceeded, MaybeExecuted},
		{context.Canceled, MaybeExecuted},
		{errors.New("anything else"), MaybeExecuted},
		{errWarned, MaybeExecuted},
		{ofServer("FATAL", "57P01"), MaybeExecuted}, // admin_shutdown
		{ofServer("FATAL", "57P02"), MaybeExecuted}, // crash_shutdown
		{ofServer("FATAL", "57P05"), MaybeExecuted}, // idle_session_timeout
		{ofServer("FATAL", "08006"), MaybeExecuted}, // connection_failure
		{ofServer("FATAL", "08P01"), MaybeExecuted}, // protocol_violation; PgBouncer's own errors
		{ofServer("ERROR", "08007"), MaybeExecuted}, // transaction_resolution_unknown
		{ofServer("ERROR", "40003"), MaybeExecuted}, // statement_completion_unknown
		{ofServer("ERROR", "XX000"), MaybeExecuted}, // internal_error
		{ofServer("PANIC", "58030"), MaybeExecuted}, // io_error
		{ofServer("PANIC", "53100"), MaybeExecuted}, // disk_full
		{ofServer("FATAL", ""), MaybeExecuted},

		// Nothing was sent, or the server rolled back.
		{&Error{NotExecuted, context.DeadlineExceeded}, NotExecuted},
		{&Error{NotExecuted, io.EOF}, NotExecuted},
		{&Error{NotExecuted, &pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "28P01"}}, NotExecuted},
		{&pgconn.NotPreferredError{}, MaybeExecuted}, // never met after connecting
		{ofServer("ERROR", "40001"), NotExecuted},
		{ofServer("ERROR", "40P01"), NotExecuted},
		{ofServer("ERROR", "25006"), NotExecuted},
		{ofServer("ERROR", "53100"), NotExecuted},
		{ofServer("ERROR", "53200"), NotExecuted},
		{ofServer("FATAL", "53300"), NotExecuted},
		{ofServer("ERROR", "55P03"), NotExecuted},
		{ofServer("ERROR", "57014"), NotExecuted},
		{ofServer("FATAL", "57P03"), NotExecuted},
		{ofServer("ERROR", "26000"), NotExecuted},
		{ofServer("ERROR", "0A000"), NotExecuted},

		// The database refuses a value.
		{ofServer("ERROR", "22021"), BadInput}, // character_not_in_repertoire
		{ofServer("ERROR", "22P05"), BadInput}, // untranslatable_character
		{ofServer("ERROR", "23514"), BadInput}, // check_violation
		{ofServer("ERROR", "23505"), BadInput}, // unique_violation

		// The database needs repair.
		{ofServer("ERROR", "2200H"), NeedsOperator}, // the sequence has reached its end
		{ofServer("ERROR", "42P01"), NeedsOperator}, // undefined_table
		{ofServer("ERROR", "42501"), NeedsOperator}, // insufficient_privilege
		{ofServer("ERROR", "54000"), NeedsOperator}, // program_limit_exceeded

		{fmt.Errorf("wrapped: %w", ErrClosed), NotExecuted},
		{fmt.Errorf("wrapped: %w", &Error{BadInput, io.EOF}), BadInput},
		{errStale, MaybeExecuted},
	} {
		if got := OutcomeOf(c.err); got != c.want {
			t.Errorf("%v: got outcome %d, want %d", c.err, got, c.want)
		}
	}
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/petstore"
)

func TestEveryErrorIsClassedByWhatHappenedToTheStatement(t *testing.T) {
	ofServer := func(severity, code string) error {
		return fmt.Errorf("wrapped: %w", &pgconn.PgError{SeverityUnlocalized: severity, Code: code})
	}
	for _, c := range []struct {
		err  error
		want class
	}{
		// The connection broke, or nobody waited any longer, after sending.
		{io.EOF, unknown},
		{io.ErrUnexpectedEOF, unknown},
		{&net.OpError{Op: "read", Err: syscall.ECONNRESET}, unknown},
		{context.DeadlineExceeded, unknown},
		{context.Canceled, unknown},
		{errors.New("anything else"), unknown},
		{errWarned, unknown},
		{ofServer("FATAL", "57P01"), unknown}, // admin_shutdown
		{ofServer("FATAL", "57P02"), unknown}, // crash_shutdown
		{ofServer("FATAL", "57P05"), unknown}, // idle_session_timeout
		{ofServer("FATAL", "08006"), unknown}, // connection_failure
		{ofServer("FATAL", "08P01"), unknown}, // protocol_violation; PgBouncer's own errors
		{ofServer("ERROR", "08007"), unknown}, // transaction_resolution_unknown
		{ofServer("ERROR", "40003"), unknown}, // statement_completion_unknown
		{ofServer("ERROR", "XX000"), unknown}, // internal_error
		{ofServer("PANIC", "58030"), unknown}, // io_error
		{ofServer("PANIC", "53100"), unknown}, // disk_full
		{ofServer("FATAL", ""), unknown},

		// Nothing was sent, or the server rolled back.
		{acquireError{context.DeadlineExceeded}, notExecuted},
		{acquireError{io.EOF}, notExecuted},
		{acquireError{&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "28P01"}}, notExecuted},
		{&pgconn.NotPreferredError{}, unknown}, // never met after connecting
		{ofServer("ERROR", "40001"), notExecuted},
		{ofServer("ERROR", "40P01"), notExecuted},
		{ofServer("ERROR", "25006"), notExecuted},
		{ofServer("ERROR", "53100"), notExecuted},
		{ofServer("ERROR", "53200"), notExecuted},
		{ofServer("FATAL", "53300"), notExecuted},
		{ofServer("ERROR", "55P03"), notExecuted},
		{ofServer("ERROR", "57014"), notExecuted},
		{ofServer("FATAL", "57P03"), notExecuted},
		{ofServer("ERROR", "26000"), notExecuted},
		{ofServer("ERROR", "0A000"), notExecuted},

		// The value is to blame.
		{ofServer("ERROR", "22021"), clientsFault}, // character_not_in_repertoire
		{ofServer("ERROR", "22P05"), clientsFault}, // untranslatable_character
		{ofServer("ERROR", "23514"), clientsFault}, // check_violation
		{ofServer("ERROR", "23505"), clientsFault}, // unique_violation

		// The database is to blame, and will be tomorrow.
		{ofServer("ERROR", "2200H"), broken}, // the sequence has come to its end
		{ofServer("ERROR", "42P01"), broken}, // undefined_table
		{ofServer("ERROR", "42501"), broken}, // insufficient_privilege
		{ofServer("ERROR", "54000"), broken}, // program_limit_exceeded

		{petstore.NoSuchPet(1), answered},
		{fmt.Errorf("wrapped: %w", errClosed), answered},
	} {
		if got := classOf(c.err); got != c.want {
			t.Errorf("%v: got class %d, want %d", c.err, got, c.want)
		}
	}
}

func TestOnlyWhatWasNotExecutedIsUnavailable(t *testing.T) {
	for _, c := range []struct {
		err  error
		want petstore.Kind
	}{
		{acquireError{io.EOF}, petstore.Unavailable},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "53100"}, petstore.Unavailable},
		{io.EOF, petstore.Internal},
		{errWarned, petstore.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "42P01"}, petstore.Internal},
		{&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "22021"}, petstore.Invalid},
		{petstore.NoSuchPet(1), petstore.NotFound},
	} {
		if got := petstore.KindOf(translate(c.err)); got != c.want {
			t.Errorf("%v: got kind %v, want %v", c.err, got, c.want)
		}
	}
}

func TestNoAddressShowsItsPassword(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://pets@db1:5432,db2/pets":            "postgres://pets@db1:5432,db2/pets",
		"postgres://db1,db2:6543/pets?sslmode=require": "postgres://db1,db2:6543/pets?sslmode=require",
		"postgres://pets:s3cret@db1,db2/pets":          "postgres://pets:xxxxx@db1,db2/pets",
		"postgresql://pets:s3cret@db/pets?a=b":         "postgresql://pets:xxxxx@db/pets?a=b",
		"postgres://pets:s3@cret@db/pets":              "postgres://pets:xxxxx@db/pets",
		"postgres://pets:s3/cret@db/pets":              "postgres://pets:xxxxx@db/pets",
		"postgres://pets:s3?cret@db/pets":              "postgres://…",
		"postgres://pets:s3:cret@db/pets":              "postgres://pets:xxxxx@db/pets",
		"postgres://pets:s3cret":                       "postgres://…",
		"postgres://pets:s3cret/pets":                  "postgres://…",
		"postgres://db/pets?password=s3cret&a=b":       "postgres://db/pets?password=xxxxx&a=b",
		"postgres://db/pets?a=b&Pass%77ord=s3cret":     "postgres://db/pets?a=b&Pass%77ord=xxxxx",
		"postgres://db/pets?sslpassword=s3cret":        "postgres://db/pets?sslpassword=xxxxx",
		"postgres://db/pets?pass%zzword=s3cret":        "postgres://db/pets?pass%zzword=xxxxx",
		"postgres://db/pets?password=s3@cret":          "postgres://…",
		"postgres://db/pets?user=a;password=s3cret":    "postgres://db/pets?user=xxxxx",
		"postgres://pets:s3\ncret@db/pets":             "postgres://…",
		"postgres://[::1]:5432/pets":                   "postgres://…", // rather too little than too much
		"postgres://pets:s3cret@[::1]:5432/pets":       "postgres://pets:xxxxx@[::1]:5432/pets",
	} {
		if got := Redact(address); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
}

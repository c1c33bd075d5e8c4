package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/petstore/internal/fault"
)

func TestEffectOf(t *testing.T) {
	server := func(severity string, codes ...string) (errs []error) {
		for _, code := range codes {
			errs = append(errs, &pgconn.PgError{SeverityUnlocalized: severity, Code: code})
		}
		return errs
	}
	for _, c := range []struct {
		want effect
		errs []error
	}{
		{notExecuted, server("ERROR", "40001", "40P01", "25006", "53000", "53100", "53200", "53400", "55P03", "57014", "26000", "0A000")},
		{notExecuted, server("FATAL", "57P03", "53300")},
		{notExecuted, []error{
			fmt.Errorf("%w: %w", errNotExecuted, context.DeadlineExceeded),
			fmt.Errorf("%w: %w", errNotExecuted, server("FATAL", "28P01")[0]),
			safe{},
		}},
		{maybeExecuted, server("FATAL", "57P01", "57P02", "57P05", "08006", "XX000")},
		{maybeExecuted, server("ERROR", "40003", "08000", "08003", "XX000")},
		{maybeExecuted, server("PANIC", "53100", "XX000", "58030")},
		{maybeExecuted, []error{
			io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE, context.DeadlineExceeded, context.Canceled,
			pgconn.ErrConnClosed, errors.Join(safe{}, pgconn.ErrConnClosed),
		}},
		{rejected, server("ERROR", "22021", "22001", "2200H", "23505", "42P01", "42501", "42703", "58P01")},
		{rejected, []error{pgx.ScanArgError{Err: errors.New("invalid hex format")}}},
	} {
		for _, err := range c.errs {
			if got := effectOf(fmt.Errorf("wrapped: %w", err)); got != c.want {
				t.Errorf("%v: got effect %d, want %d", err, got, c.want)
			}
		}
	}
}

// TestPingBridges checks for how long Ping succeeds while the server is unreachable.
func TestPingBridges(t *testing.T) {
	d, start := &DB{}, time.Now()
	for _, c := range []struct {
		after time.Duration
		kind  fault.Kind
		want  bool
	}{
		{0, "", true},
		{time.Hour, fault.Unavailable, true},
		{time.Hour + bridgedOutage - 1, fault.Unavailable, true},
		{time.Hour + bridgedOutage, fault.Unavailable, false},
		{2 * time.Hour, "", true},
		{3 * time.Hour, fault.Unavailable, true},
		{3 * time.Hour, fault.Internal, false},
	} {
		var err error
		if c.kind != "" {
			err = fault.New(c.kind, "")
		}
		if got := d.pingSucceeds(err, start.Add(c.after)); got != c.want {
			t.Errorf("%v after %v: got %v, want %v", c.kind, c.after, got, c.want)
		}
	}
}

// safe is a pgx error from before anything was sent.
type safe struct{}

func (safe) Error() string     { return "safe" }
func (safe) SafeToRetry() bool { return true }

// TestKeepWarning checks that a warning before the commit, for weeks, is not kept.
func TestKeepWarning(t *testing.T) {
	config, _ := parse("postgres://db/notes", "")
	c, _ := pgconn.Construct(&pgconn.HijackedConn{Config: &config.ConnConfig.Config, CustomData: map[string]any{}})
	keepWarning(c, &pgconn.Notice{SeverityUnlocalized: "WARNING", Routine: "GetNewTransactionId"})
	if kept := c.CustomData(); len(kept) > 0 {
		t.Errorf("got %v kept, want nothing", kept)
	}
}

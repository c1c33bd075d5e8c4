package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
)

// TestAddress checks that no password is printed, and which addresses get advice about it.
func TestAddress(t *testing.T) {
	const hidden = "postgres://…"
	const unclear = "malformed: it is unclear where the password is; write : before it, and in it @ as %40 and / as %2F"
	for address, want := range map[string]struct{ redacted, err string }{
		"postgres://":                         {"postgres://", ""}, // the environment has the rest
		"postgresql://ann@db1:5432,db2/notes": {"postgresql://ann@db1:5432,db2/notes", ""},
		"postgres://ann:hunter2@db1,db2:1/notes?sslmode=disable":          {"postgres://ann:xxxxx@db1,db2:1/notes", ""},
		"postgres://ann:hunter2%3A%40@db/notes":                           {"postgres://ann:xxxxx@db/notes", ""},
		"postgres://ann:hunter2@[::1]:5432/notes":                         {"postgres://ann:xxxxx@[::1]:5432/notes", ""},
		"postgres://ann:hunter2@%2Frun%2Fpostgresql/notes":                {"postgres://ann:xxxxx@%2Frun%2Fpostgresql/notes", ""},
		"postgres://ann%40hunter2@db/notes":                               {hidden, ""},
		"postgres://db/notes?password=hunter2":                            {"postgres://db/notes", ""},
		"postgres://db/notes%3Fpassword=hunter2":                          {hidden, ""},
		"postgres://127.0.0.1/notes?pool_max_conns=x&password=hunter2":    {"postgres://127.0.0.1/notes", "pool_max_conns"},
		"postgres://ann:hunter2@127.0.0.1/notes?sslrootcert=/nowhere.pem": {"postgres://ann:xxxxx@127.0.0.1/notes", "/nowhere.pem"},
		"postgres://127.0.0.1/notes?user=ann;password=hunter2":            {"postgres://127.0.0.1/notes", "invalid"},
		"postgres://ann:%zzhunter2@127.0.0.1/notes":                       {"postgres://ann:xxxxx@127.0.0.1/notes", "percent"},
		"postgres://ann:hunter2":                                          {hidden, "port"},
		"postgres://ann%3Ahunter2@127.0.0.1/notes":                        {hidden, unclear},
		"postgres://ann%3ahunter2@127.0.0.1/notes":                        {hidden, unclear},
		"postgres://ann:p@hunter2@127.0.0.1/notes":                        {hidden, unclear},
		"postgres://ann:12/hunter2@127.0.0.1/notes":                       {hidden, unclear},
		"postgres://ann:12?hunter2@127.0.0.1/notes":                       {hidden, unclear},
		"postgres://ann:12#hunter2@127.0.0.1/notes":                       {hidden, unclear},
		"postgres://127.0.0.1/notes?user=ann&password=hunter2@":           {hidden, unclear},
	} {
		_, err := Schema{Name: "notebook"}.parse(address)
		dbtest.WantError(t, address, err, want.err)
		assert.NotRegexp(t, "hunter2|\n", err, address)
		assert.Equal(t, want.redacted, Redact(address), address)
	}
}

// TestParse checks the number of connections, the times after which idle ones are closed and new ones
// are given up, and whose certificates are not verified.
func TestParse(t *testing.T) {
	for address, want := range map[string]string{
		"postgres://%2Frun%2Fpostgresql,localhost,127.0.0.2,[::1]/notes":                                     "32 1m0s 1s []",
		"postgres://db1/notes?pool_max_conns=8&pool_max_conn_idle_time=1h&connect_timeout=5&sslmode=disable": "8 1h0m0s 5s []",
		"postgres://db1,%2Frun,db2/notes":                                                                    "32 1m0s 1s [db1 db2]",
		"postgres://db1/notes?sslmode=require":                                                               "32 1m0s 1s [db1]",
		"postgres://db1/notes?sslmode=verify-ca":                                                             "32 1m0s 1s []",
		"postgres://db1/notes?sslmode=verify-full":                                                           "32 1m0s 1s []",
	} {
		c, err := Schema{}.parse(address)
		require.NoError(t, err, address)
		got := fmt.Sprint(c.MaxConns, c.MaxConnIdleTime, c.ConnConfig.ConnectTimeout, unverified(address, c.ConnConfig))
		assert.Equal(t, want, got, address)
	}
}

// TestLineage checks which servers are rejected, and that each reason is logged once.
func TestLineage(t *testing.T) {
	defer time.AfterFunc(10*time.Second, func() { panic("TestLineage hangs") }).Stop()
	log, logger := dbtest.NewLog()
	l := lineage{logger: logger, newest: map[string]position{}}
	at := func(system, timeline string, flushed uint64) session {
		return session{system: system, position: position{timeline, flushed}}
	}
	citus, behind := session{Citus: true, system: "2", position: position{"03", 1}}, at("1", "02", 8)
	behind.before = map[string]position{"1": {"02", 9}}
	for _, c := range []struct { // one after the other
		session
		accepted bool
	}{
		{session{}, true}, // its timeline cannot be read
		{at("1", "02", 9), true},
		{session{}, false},
		{at("1", "02", 8), true}, // it was asked before the other one answered
		{behind, false},
		{at("1", "01", 10), false},
		{at("2", "03", 1), false},
		{citus, true},
		{session{Citus: true, system: "2", position: position{"02", 1}}, false},
		{behind, false},
	} {
		err := l.admit(c.session)
		assert.Equal(t, c.accepted, err == nil, "%+v: got error %v", c.session, err)
	}
	assert.Equal(t, 5, strings.Count(log.String(), "level=WARN"), "one for each reason:\n%s", log)
	assert.Equal(t, 1, strings.Count(log.String(), "level=INFO"), "that the timeline cannot be read:\n%s", log)
}

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
		{notExecuted, server("FATAL", "57P03", "53300", "57P05", "25P03")},
		{notExecuted, []error{NotCommitted(io.EOF), fmt.Errorf("%w: %w", errNotExecuted, server("FATAL", "28P01")[0]), safe{}}},
		{maybeExecuted, server("FATAL", "57P01", "57P02", "08006", "XX000")},
		{maybeExecuted, server("ERROR", "40003", "08000", "08003", "XX000")},
		{maybeExecuted, server("PANIC", "53100", "XX000", "58030")},
		{maybeExecuted, []error{io.EOF, syscall.ECONNRESET, context.DeadlineExceeded, errors.Join(safe{}, pgconn.ErrConnClosed)}},
		{rejected, server("ERROR", "22021", "22001", "2200H", "23505", "42P01", "42501", "42703", "58P01")},
		{rejected, []error{pgx.ScanArgError{Err: errors.New("invalid hex format")}}},
	} {
		for _, err := range c.errs {
			assert.Equal(t, c.want, effectOf(fmt.Errorf("wrapped: %w", err)), "%v", err)
		}
	}
}

// TestUnreachable checks for how long calls are retried and Close waits, and how long Ping succeeds.
func TestUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, _ := Schema{}.parse("postgres://127.0.0.1/notes")
		dials, dial := 0, func() error { return io.EOF }
		config.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) { dials++; return nil, dial() }
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		d := &DB{pool: pool, reads: semaphore.NewWeighted(1)}
		fails := func(what string, call func() error, want fault.Kind, least, most time.Duration) {
			began := time.Now()
			dbtest.WantKind(t, what, call(), want)
			assert.WithinRange(t, time.Now(), began.Add(least), began.Add(most), what)
		}
		read := func() error { return d.Read(t.Context(), nil) }
		fails("a read", read, fault.Unavailable, 3*time.Second, 4*time.Second)
		assert.InDelta(t, 160, dials, 80, "dials of a read: an attempt each 50 ms dials with TLS and without")
		ping := func() (err error) {
			for n := 0; err == nil && n < 100; n++ {
				err = d.Ping(t.Context())
			}
			return err
		}
		fails("Ping", ping, fault.Unavailable, 26*time.Second, 31*time.Second) // 30 s after the read began

		hang := make(chan bool)
		dial = func() error { <-hang; return io.EOF }
		fails("a read that hangs", read, fault.Unavailable, 3*time.Second, 4*time.Second)
		fails("Close", d.Close, fault.Internal, 5*time.Second, 5*time.Second)
		fails("a read after Close", read, fault.Unavailable, 0, 0)
		close(hang)
	})
}

// safe is a pgx error from before anything was sent.
type safe struct{}

func (safe) Error() string     { return "safe" }
func (safe) SafeToRetry() bool { return true }

// TestKeepWarning checks that a warning before the commit, for weeks, is not kept.
func TestKeepWarning(t *testing.T) {
	config, _ := Schema{}.parse("postgres://db/notes")
	c, _ := pgconn.Construct(&pgconn.HijackedConn{Config: &config.ConnConfig.Config, CustomData: map[string]any{}})
	keepWarning(c, &pgconn.Notice{SeverityUnlocalized: "WARNING", Routine: "GetNewTransactionId"})
	assert.Empty(t, c.CustomData())
}

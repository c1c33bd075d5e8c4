package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
)

// session is what a connection says of its server and its settings.
type session struct {
	pooled   bool // there is a pooler such as PgBouncer in between
	readOnly bool
	encoding string // of the database

	commit   string // synchronous_commit
	standbys string // synchronous_standby_names
	messages string // client_min_messages

	citus   bool   // the extension is installed
	schema  string // the first of the search path
	stored  bool   // schema holds a store
	hidden  string // another schema of the search path that holds a store
	version int64  // of the store in schema; 0 if there is none. Only look sets it
}

const selectSession = `WITH stores AS (SELECT schemaname FROM pg_tables WHERE schemaname = ANY (current_schemas(false))
AND tablename IN ('pets', 'idempotency_keys', 'keys') GROUP BY schemaname HAVING count(*) = 3)
SELECT pg_backend_pid(), current_setting('transaction_read_only'), current_setting('server_encoding'),
current_setting('synchronous_commit'), current_setting('synchronous_standby_names'), current_setting('client_min_messages'),
EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')::text, current_schema(),
EXISTS (SELECT 1 FROM stores WHERE schemaname = current_schema())::text,
(SELECT schemaname FROM stores WHERE schemaname <> current_schema() LIMIT 1)`

func readSession(ctx context.Context, c *pgconn.PgConn) (session, error) {
	result := c.ExecParams(ctx, selectSession, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return session{}, result.Err
	}
	if len(result.Rows) != 1 {
		return session{}, errors.New("the server does not answer as PostgreSQL does")
	}
	column := func(i int) string { return string(result.Rows[0][i]) } // "" if NULL
	return session{
		pooled:   column(0) != fmt.Sprint(c.PID()), // the backend is not that of the login
		readOnly: column(1) == "on",
		encoding: column(2),
		commit:   column(3),
		standbys: column(4),
		messages: column(5),
		citus:    column(6) == "true",
		schema:   column(7),
		stored:   column(8) == "true",
		hidden:   column(9),
	}, nil
}

// validate returns a function that checks each new connection. pgx then tries the next
// host of the address. With writes, it rejects a server that may lose them in a crash.
func validate(writes bool) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, c *pgconn.PgConn) error {
		s, err := readSession(ctx, c)
		switch {
		case err != nil:
			return err
		case s.readOnly:
			return errors.New("the server is a standby, or default_transaction_read_only is on")
		case s.encoding != "UTF8":
			return fmt.Errorf("the encoding of the database is not UTF8 but %s", s.encoding)
		case writes && s.commit == "off":
			return errors.New("a crash would lose writes, because synchronous_commit is off for this server, database or user")
		}
		return nil
	}
}

// synchronous reports whether acknowledged writes wait for a standby. If the server does
// not send warnings, the end of such a wait goes unnoticed; see attempt.
func (s session) synchronous() bool {
	waits := strings.TrimSpace(s.standbys) != "" && s.commit != "off" && s.commit != "local"
	return waits && s.messages != "error"
}

var (
	connections  = prometheus.NewDesc("postgres_connections", "Open connections.", nil, nil)
	inUse        = prometheus.NewDesc("postgres_connections_in_use", "Connections in use.", nil, nil)
	syncWaits    = prometheus.NewDesc("postgres_sync", "1 if acknowledged writes wait for a standby; absent if unknown.", nil, nil)
	syncRequired = prometheus.NewDesc("postgres_sync_required", "1 with --require-sync.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections, inUse, syncWaits, syncRequired} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It asks on a connection for reads, because
// all those for writes may be waiting for a standby.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	number := map[bool]float64{true: 1}
	gauge := func(d *prometheus.Desc, v float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	writes, reads := s.writes.Stat(), s.reads.Stat()
	gauge(connections, float64(writes.TotalConns()+reads.TotalConns()))
	gauge(inUse, float64(writes.AcquiredConns()+reads.AcquiredConns()))
	gauge(syncRequired, number[s.requireSync])
	ctx, cancel := context.WithTimeout(context.Background(), outageWait)
	defer cancel()
	var now session
	err := s.attempt(ctx, s.reads, func(ctx context.Context, c *pgx.Conn) (err error) {
		now, err = readSession(ctx, c.PgConn())
		return err
	})
	if err == nil {
		gauge(syncWaits, number[now.synchronous()])
	}
}

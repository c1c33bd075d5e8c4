package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
)

// session is what a connection says of its server and its settings.
type session struct {
	Backend  uint32 // the server's process
	ReadOnly bool
	Encoding string // of the database

	Commit   string // synchronous_commit
	Standbys string // synchronous_standby_names
	Messages string // client_min_messages

	Citus  bool     // the extension is installed
	Schema string   // the first of the search path
	Stores []string // the schemas of the search path that hold a store, Schema last

	pooled  bool  // there is a pooler such as PgBouncer in between
	version int64 // of the store in Schema; 0 if there is none. Only look sets it
}

const selectSession = `SELECT row_to_json(session) FROM (SELECT pg_backend_pid() AS backend, current_setting('transaction_read_only')::bool AS readonly,
current_setting('server_encoding') AS encoding, current_setting('synchronous_commit') AS commit,
current_setting('synchronous_standby_names') AS standbys, current_setting('client_min_messages') AS messages,
EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS citus, current_schema() AS schema,
ARRAY(SELECT schemaname FROM pg_tables WHERE schemaname = ANY (current_schemas(false))
AND tablename IN ('pets', 'idempotency_keys', 'keys') GROUP BY schemaname HAVING count(*) = 3
ORDER BY schemaname = current_schema()) AS stores) session`

func readSession(ctx context.Context, c *pgconn.PgConn) (s session, err error) {
	result := c.ExecParams(ctx, selectSession, nil, nil, nil, nil).Read()
	if result.Err != nil {
		return s, result.Err
	}
	err = json.Unmarshal(result.Rows[0][0], &s)
	s.pooled = s.Backend != c.PID()
	return s, err
}

// validate returns a function that checks each new connection. pgx then tries the next
// host of the address. With writes, it rejects a server that may lose them in a crash.
func validate(writes bool) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, c *pgconn.PgConn) error {
		s, err := readSession(ctx, c)
		switch {
		case err != nil:
			return err
		case s.ReadOnly:
			return errors.New("the server is a standby, or default_transaction_read_only is on")
		case s.Encoding != "UTF8":
			return fmt.Errorf("the encoding of the database is not UTF8 but %s", s.Encoding)
		case writes && s.Commit == "off":
			return errors.New("a crash would lose writes, because synchronous_commit is off for this server, database or user")
		}
		return nil
	}
}

// synchronous reports whether acknowledged writes wait for a standby. If the server does
// not send warnings, the end of such a wait goes unnoticed; see attempt.
func (s session) synchronous() bool {
	return s.Standbys != "" && s.Commit != "off" && s.Commit != "local" && s.Messages != "error"
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

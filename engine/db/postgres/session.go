package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

// session describes the server, the database and the settings of a new connection.
type session struct {
	Backend  uint32 // the server's process
	ReadOnly bool
	Citus    bool   // the extension is installed
	Fault    string // why rows may be hidden or lost, if so
	Lossy    string // why a crash may lose writes, if so

	Commit, Standbys, Messages string // synchronous_commit, synchronous_standby_names, client_min_messages

	host            string // and port, or socket
	pooled          bool   // there is a pooler such as PgBouncer in between
	system, started string // the system identifier, empty if the user may not see it, and when the server was started
	position
	denied error               // why these cannot be seen
	before map[string]position // what was known before the server was asked
}

// selectSession casts literals that are not text; see the last paragraph of README.md.
const selectSession = `WITH tables AS (
	SELECT oid, relname::text, relpersistence FROM pg_class WHERE relnamespace = to_regnamespace($1::text)::oid AND relkind IN ('r', 'p')
)
SELECT pg_backend_pid() AS backend,
	current_setting('transaction_read_only')::bool AS readonly,
	EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS citus,
	coalesce('the encoding of the database is not UTF8 but ' || nullif(current_setting('server_encoding'), 'UTF8'),
		'row security may hide rows from the user, in the tables ' || (SELECT string_agg(relname, ', ') FROM tables WHERE row_security_active(oid)),
		'a crash would lose the rows of UNLOGGED tables: ' || (SELECT string_agg(relname, ', ') FROM tables WHERE relpersistence <> 'p'), '') AS fault,
	coalesce('a crash would lose writes, because ' || (SELECT min(name) FROM (VALUES ('synchronous_commit'), ('fsync'), ('full_page_writes'))
		setting (name) WHERE current_setting(name) = 'off') || ' is off for this server, database or user', '') AS lossy,
	current_setting('synchronous_commit') AS commit,
	current_setting('synchronous_standby_names') AS standbys,
	current_setting('client_min_messages') AS messages`

// selectSystem calls functions that a user may not be allowed to call.
const selectSystem = `SELECT system_identifier::text, pg_postmaster_start_time()::text,
	left(pg_walfile_name(pg_current_wal_lsn()), 8), (pg_current_wal_flush_lsn() - '0/0'::pg_lsn)::bigint FROM pg_control_system()`

// session returns the session of a connection, but for the system and the position.
func (d *DB) session(ctx context.Context, c *pgx.Conn) (session, error) {
	rows, _ := c.Query(ctx, selectSession, pgx.QueryExecModeExec, d.schema.Name) // CollectExactlyOneRow returns the error
	s, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByNameLax[session])
	s.pooled = s.Backend != c.PgConn().PID()
	return s, err
}

// ask returns the session of a new connection to a primary.
func (d *DB) ask(ctx context.Context, c *pgx.Conn) (session, error) {
	d.mu.Lock()
	before := maps.Clone(d.newest)
	d.mu.Unlock()
	s, err := d.session(ctx, c)
	s.host, s.before = c.PgConn().Conn().RemoteAddr().String(), before
	if err == nil && s.ReadOnly {
		err = errors.New("the server is a standby, or default_transaction_read_only is on")
	}
	if err == nil {
		err = c.QueryRow(ctx, selectSystem, pgx.QueryExecModeExec).Scan(&s.system, &s.started, &s.timeline, &s.flushed)
		if err != nil && (effectOf(err) == rejected || serverError(err).Code == "0A000") { // some clouds deny these functions
			s.denied, err = err, nil
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.host, err)
	}
	return s, err
}

// validate checks a new connection, and stores its session for sessionOf.
func (d *DB) validate(ctx context.Context, c *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, c.Config().ConnectTimeout)
	defer cancel()
	s, err := d.ask(ctx, c)
	c.PgConn().CustomData()["session"] = s
	if err != nil {
		return err
	}
	return d.admit(s)
}

// position is how far a primary has written.
type position struct {
	timeline string // in hexadecimal, of eight digits
	flushed  uint64
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.timeline, q.timeline), cmp.Compare(p.flushed, q.flushed))
}

// lineage records the newest primary that this process has seen, so that an old one that returns
// is rejected. A promotion raises the timeline; initdb and pg_upgrade change the identifier.
type lineage struct {
	logger *slog.Logger
	logged sync.Map // by text
	mu     sync.Mutex
	newest map[string]position // by system identifier; guarded by mu
}

// admit rejects an old primary and another cluster. The nodes of Citus have identifiers of their own.
func (l *lineage) admit(s session) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest, known := l.newest[s.system]
	switch {
	case s.system == "" && len(l.newest) > 0:
		err = fmt.Errorf("its timeline cannot be read, and one was seen: it may be old; a restart accepts it: %w", s.denied)
	case s.system == "":
		l.logOnce(slog.LevelInfo, "an old primary that returns would go unnoticed, since the timeline cannot be read",
			"host", s.host, "error", s.denied)
	case !known && len(l.newest) > 0 && !s.Citus:
		err = fmt.Errorf("its system identifier is %s: it is another cluster; a restart accepts it", s.system)
	case s.timeline < newest.timeline:
		err = fmt.Errorf("its timeline is %s, and %s was seen: it is an old primary; a restart accepts it once the newer "+
			"one is gone", s.timeline, newest.timeline)
	case s.compare(s.before[s.system]) < 0:
		err = errors.New("its log ends before another primary's of its timeline; a restart accepts it once that one is gone")
	case s.compare(newest) > 0:
		l.newest[s.system] = s.position
	}
	if err != nil {
		l.logOnce(slog.LevelWarn, "rejected a PostgreSQL server", "host", s.host, "error", err)
		err = fmt.Errorf("%s: %w", s.host, err)
	}
	return err
}

// logOnce logs a message unless it has done so.
func (l *lineage) logOnce(level slog.Level, text string, args ...any) {
	if _, logged := l.logged.LoadOrStore(fmt.Sprint(text, args), true); !logged {
		l.logger.Log(context.Background(), level, text, args...)
	}
}

// sessionOf returns the session that validate has stored when the connection was new.
func sessionOf(c *pgx.Conn) session { return c.PgConn().CustomData()["session"].(session) }

// check rejects a database that may hide or lose rows and, for writes, settings that may lose them.
func (s session) check(writes bool) error {
	if writes && s.Fault == "" {
		s.Fault = s.Lossy
	}
	if s.Fault != "" {
		return errors.New(s.Fault)
	}
	return nil
}

// synchronous reports whether acknowledged writes wait for a standby, with a WARNING if not; see attempt.
func (s session) synchronous() bool {
	return s.Standbys != "" && s.Commit != "off" && s.Commit != "local" && s.Messages != "error"
}

// Describe sends nothing, so the registry checks the metrics when it collects them.
func (d *DB) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (d *DB) Collect(ch chan<- prometheus.Metric) {
	gauge := func(name, help string, value float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), prometheus.GaugeValue, value)
	}
	oneIf := map[bool]float64{true: 1}
	pool := d.pool.Stat()
	gauge("postgres_connections", "Open connections.", float64(pool.TotalConns()))
	gauge("postgres_connections_in_use", "Connections in use.", float64(pool.AcquiredConns()))
	gauge("postgres_sync_required", "1 with --require-sync.", oneIf[d.requireSync])
	ctx, cancel := context.WithTimeout(context.Background(), outageWait)
	defer cancel()
	_ = d.attempt(ctx, false, func(ctx context.Context, c *pgx.Conn) error {
		now, err := d.session(ctx, c)
		if err == nil {
			gauge("postgres_sync", "1 if acknowledged writes wait for a standby; absent if unknown.", oneIf[now.synchronous()])
		}
		return err
	})
}

package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
)

// session describes the server, the database and the settings of a new connection.
type session struct {
	Backend  uint32 // the server's process
	ReadOnly bool
	Encoding string // of the database
	Citus    bool   // the extension is installed

	Commit   string // synchronous_commit
	Standbys string // synchronous_standby_names
	Messages string // client_min_messages

	Hidden   []string // tables of the schema that may hide rows from the user
	Unlogged []string // tables of the schema that a crash empties
	Off      []string // settings without which a crash loses writes

	pooled  bool   // there is a pooler such as PgBouncer in between
	system  string // the system identifier; empty if the user may not see it
	started string // when the server was started
	behind  bool   // it was behind what was known before it was asked
	denied  error  // why the system cannot be seen
	position
}

// selectSession casts literals that are not text; see the last paragraph of README.md.
const selectSession = `WITH tables AS (
	SELECT oid, relname::text, relpersistence FROM pg_class WHERE relnamespace = to_regnamespace($1::text)::oid AND relkind IN ('r', 'p')
)
SELECT row_to_json(session) FROM (SELECT
	pg_backend_pid() AS backend,
	current_setting('transaction_read_only')::bool AS readonly,
	current_setting('server_encoding') AS encoding,
	EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus') AS citus,
	current_setting('synchronous_commit') AS commit,
	current_setting('synchronous_standby_names') AS standbys,
	current_setting('client_min_messages') AS messages,
	ARRAY(SELECT relname FROM tables WHERE row_security_active(oid)) AS hidden,
	ARRAY(SELECT relname FROM tables WHERE relpersistence <> 'p') AS unlogged,
	ARRAY(SELECT name FROM unnest(ARRAY['synchronous_commit', 'fsync', 'full_page_writes']) name WHERE current_setting(name) = 'off') AS off
) session`

func readSession(ctx context.Context, c *pgconn.PgConn, schema Schema) (s session, err error) {
	result := c.ExecParams(ctx, selectSession, [][]byte{[]byte(schema.Name)}, nil, nil, nil).Read()
	if result.Err != nil {
		return s, result.Err
	}
	err = json.Unmarshal(result.Rows[0][0], &s)
	s.pooled = s.Backend != c.PID()
	return s, err
}

// ask returns the session of a new connection to a primary.
func (s Schema) ask(ctx context.Context, c *pgconn.PgConn, known *lineage) (session, error) {
	seen, err := readSession(ctx, c, s)
	if err == nil && seen.ReadOnly {
		err = errors.New("the server is a standby, or default_transaction_read_only is on")
	}
	if err == nil {
		err = known.locate(ctx, c, &seen)
	}
	return seen, err
}

// validate checks a new connection, and stores its session for sessionOf.
func (s Schema) validate(ctx context.Context, c *pgconn.PgConn, known *lineage) error {
	seen, err := s.ask(ctx, c, known)
	if err == nil {
		err = known.admit(c.Conn().RemoteAddr().String(), seen)
	}
	c.CustomData()["session"] = seen
	return err
}

// position is how far a primary has written.
type position struct {
	timeline string // in hexadecimal, of eight digits; empty if the user may not see it
	flushed  uint64
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.timeline, q.timeline), cmp.Compare(p.flushed, q.flushed))
}

// lineage records the newest primary that this process has seen, so that an old one that returns
// is rejected. A promotion raises the timeline; initdb and pg_upgrade change the identifier.
type lineage struct {
	logger  *slog.Logger
	logged  sync.Map             // by text
	mu      sync.Mutex           // of newest
	newest  map[string]position  // by system identifier
	primary atomic.Pointer[host] // to connect to; nil before a search
	search  singleflight.Group
}

// locate adds the system and the position to the session of a new connection, if the user may see them.
func (l *lineage) locate(ctx context.Context, c *pgconn.PgConn, s *session) error {
	l.mu.Lock()
	before := maps.Clone(l.newest) // others may see a later position before this server answers
	l.mu.Unlock()
	const sql = "SELECT system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), " +
		"pg_current_wal_flush_lsn() - '0/0'::pg_lsn, pg_postmaster_start_time() FROM pg_control_system()"
	result := c.ExecParams(ctx, sql, nil, nil, nil, nil).Read()
	if err := result.Err; err != nil {
		if effectOf(err) == rejected || answer(err).Code == "0A000" { // some clouds deny these functions
			s.denied, err = err, nil
		}
		return err
	}
	row := result.Rows[0]
	s.system, s.timeline, s.started = string(row[0]), string(row[1]), string(row[3])
	s.flushed, _ = strconv.ParseUint(string(row[2]), 10, 64)
	s.behind = s.timeline == before[s.system].timeline && s.flushed < before[s.system].flushed
	return nil
}

// admit checks the session of a new connection, and logs why it is rejected.
func (l *lineage) admit(host string, s session) error {
	err := l.check(s)
	switch {
	case err != nil && s.system == "":
		l.logOnce(slog.LevelWarn, "rejected a PostgreSQL server", fmt.Sprint(host, err), "host", host, "error", err)
	case err != nil:
		l.logOnce(slog.LevelError, "rejected a PostgreSQL server", fmt.Sprint(host, err), "host", host, "error", err)
	case s.system == "":
		l.logOnce(slog.LevelInfo, "an old primary that returns would go unnoticed, since the timeline cannot be read",
			fmt.Sprint(host, s.denied), "host", host, "error", s.denied)
	}
	return err
}

// check rejects an old primary and another cluster. The nodes of Citus have identifiers of their own.
func (l *lineage) check(s session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	newest, known := l.newest[s.system]
	switch {
	case s.system == "" && len(l.newest) > 0:
		return fmt.Errorf("its timeline cannot be read, and one was seen: it may be an old primary; a restart accepts it: %w", s.denied)
	case s.system == "":
		return nil
	case !known && len(l.newest) > 0 && !s.Citus:
		return fmt.Errorf("its system identifier is %s: it is another cluster; a restart accepts it", s.system)
	case s.timeline < newest.timeline:
		return fmt.Errorf("its timeline is %s, and %s was seen: it is an old primary; a restart accepts it once the newer one is gone", s.timeline, newest.timeline)
	case s.behind && s.timeline == newest.timeline:
		return errors.New("its log ends before that of another primary of its timeline; a restart accepts it once the other one is gone")
	case s.compare(newest) > 0:
		l.newest[s.system] = s.position
	}
	return nil
}

// logOnce logs a text once for each key.
func (l *lineage) logOnce(level slog.Level, text, key string, args ...any) {
	if _, logged := l.logged.LoadOrStore(key, true); !logged {
		l.logger.Log(context.Background(), level, text, args...)
	}
}

// sessionOf returns the session that validate has stored when the connection was new.
func sessionOf(c *pgx.Conn) session { return c.PgConn().CustomData()["session"].(session) }

// check rejects a database that may hide or lose rows and, for writes, settings that may lose them.
func (s session) check(writes bool) error {
	switch {
	case s.Encoding != "UTF8":
		return errors.New("the encoding of the database is not UTF8 but " + s.Encoding)
	case len(s.Hidden) > 0:
		return errors.New("row security may hide rows from the user, in the tables " + strings.Join(s.Hidden, ", "))
	case len(s.Unlogged) > 0:
		return errors.New("a crash would lose the rows of UNLOGGED tables: " + strings.Join(s.Unlogged, ", "))
	case writes && len(s.Off) > 0:
		return errors.New("a crash would lose writes, because " + s.Off[0] + " is off for this server, database or user")
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
	var now session
	err := d.attempt(ctx, false, func(ctx context.Context, c *pgx.Conn) (err error) {
		now, err = readSession(ctx, c.PgConn(), d.schema)
		return err
	})
	if err == nil {
		gauge("postgres_sync", "1 if acknowledged writes wait for a standby; absent if unknown.", oneIf[now.synchronous()])
	}
}

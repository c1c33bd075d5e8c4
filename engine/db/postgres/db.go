// Package postgres connects to a PostgreSQL database, which any number of processes may use at
// once. The caller passes the tables in a Schema. README.md lists what it promises.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
)

// Schema is what a program keeps in a database.
type Schema struct {
	Name       string // the PostgreSQL schema of all tables; every statement must name it
	Migrations fs.FS  // goose's files; see README.md for what they may change
}

// versions returns the name of goose's table.
func (s Schema) versions() string { return s.Name + ".goose_db_version" }

// DB is a PostgreSQL database.
type DB struct {
	Citus bool // the extension is installed

	schema      Schema
	config      *pgxpool.Config
	first       session // when the database was opened
	version     int64   // of the schema then; 0 if there was none
	requireSync bool    // for the metric
	pool        *pgxpool.Pool

	lineage
	primary atomic.Pointer[string] // what to dial, or "" for any; nil before a search
	search  singleflight.Group

	reads, writes    *semaphore.Weighted // so that slow writes do not block reads, nor slow reads writes
	closed           atomic.Bool
	unreachableSince atomic.Int64 // the begin of the first call in vain, in nanoseconds; 0 after an answer
}

// Open opens the database at a postgres:// address with one or more hosts, and brings its
// schema up to date. Errors never contain the password.
func (s Schema) Open(ctx context.Context, address string, o db.Options) (*DB, error) {
	d, err := s.connect(ctx, address, o.Logger, true)
	switch {
	case err != nil: // returned below
	case o.RequireSync && !d.first.synchronous():
		err = fmt.Errorf("--require-sync: writes need not wait for a standby, or the end of a wait would go unnoticed: "+
			"synchronous_standby_names is %q, synchronous_commit %s and client_min_messages %s",
			d.first.Standbys, d.first.Commit, d.first.Messages)
	case o.MustExist && d.version == 0:
		err = s.check(d.version)
	default:
		err = d.migrate(ctx)
	}
	if err != nil {
		return nil, explainOpen(address, err)
	}
	d.requireSync = o.RequireSync
	return d, d.start(ctx)
}

// OpenReader opens the database at address as it is: it creates and migrates nothing.
func (s Schema) OpenReader(ctx context.Context, address string) (*DB, error) {
	d, err := s.connect(ctx, address, nil, false)
	if err == nil {
		err = s.check(d.version)
	}
	if err != nil {
		return nil, explainOpen(address, err)
	}
	return d, d.start(ctx)
}

// Migrate does what Open does, and returns the versions of the schema before and after.
func (s Schema) Migrate(ctx context.Context, address string, logger *slog.Logger) (from, to int64, err error) {
	d, err := s.Open(ctx, address, db.Options{Logger: logger})
	if err != nil {
		return 0, 0, err
	}
	return d.version, s.newest(), d.Close()
}

// connect returns a DB with what one connection finds. With writes, it rejects a server that may lose them.
func (s Schema) connect(ctx context.Context, address string, logger *slog.Logger, writes bool) (*DB, error) {
	config, err := s.parse(address)
	if err != nil {
		return nil, err
	}
	d := &DB{schema: s, config: config}
	d.logger, d.newest = cmp.Or(logger, slog.New(slog.DiscardHandler)), map[string]position{}
	if hosts := unverified(address, config.ConnConfig); len(hosts) > 0 {
		d.logger.Warn("PostgreSQL's certificate is not verified: use sslmode=verify-full, or sslmode=disable if the "+
			"network is trusted", "hosts", strings.Join(hosts, ","))
	}
	if err := d.prepare(ctx, config.ConnConfig); err != nil {
		return nil, err
	}
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares no statement, for PgBouncer
	c, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer c.Close(ctx)
	if err := d.validate(ctx, c); err != nil {
		return nil, err
	}
	d.first = sessionOf(c)
	d.Citus = d.first.Citus
	err = c.QueryRow(ctx, "SELECT max(version_id) FROM "+s.versions()).Scan(&d.version)
	if err != nil && serverError(err).Code != "42P01" { // undefined_table
		return nil, err
	}
	return d, d.first.check(writes)
}

// prepare makes c connect to the primary. It parses the address again, since passwords in files may have changed.
func (d *DB) prepare(ctx context.Context, c *pgx.ConnConfig) error {
	config, err := d.schema.parse(d.config.ConnString())
	if err != nil {
		return err
	}
	*c = *config.ConnConfig
	if d.first.pooled && c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement { // the default of pgx
		c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	primary, err, _ := d.search.Do("", func() (any, error) { // callers share one search
		if known := d.primary.Load(); known != nil {
			return *known, nil
		}
		address, err := d.find(context.WithoutCancel(ctx), c)
		if err == nil {
			d.primary.Store(&address)
		}
		return address, err
	})
	if err == nil && primary != "" {
		dialOnly(c, primary.(string))
	}
	return err
}

// start opens the pool.
func (d *DB) start(ctx context.Context) (err error) {
	d.config.BeforeConnect = d.prepare
	d.config.AfterConnect = d.validate
	d.config.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		return d.admit(sessionOf(c)) == nil, nil
	}
	half := int64(max(1, d.config.MaxConns/2))
	d.reads, d.writes = semaphore.NewWeighted(half), semaphore.NewWeighted(half)
	d.pool, err = pgxpool.NewWithConfig(ctx, d.config)
	return err
}

// explainOpen formats an error of opening the database at address as one line.
func explainOpen(address string, err error) error {
	e := serverError(err)
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case e.Code == "3D000": // invalid_catalog_name
		err = fmt.Errorf("%w: %s", db.ErrNoDatabase, e.Message)
	case e.Code == "42501" && !connecting: // insufficient_privilege
		err = fmt.Errorf("%w: %s", db.ErrMayNotMigrate, e.Message)
	case e.Code != "":
		err = errors.New(e.Message)
	case connecting:
		err = unreachable(err)
	}
	return fmt.Errorf("cannot open %s: %w", Redact(address), err)
}

// Ping reports whether the database can serve requests. All processes share the database, so
// it succeeds while the server has been unreachable for less than bridgedOutage.
func (d *DB) Ping(ctx context.Context) error {
	err := d.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT FROM "+d.schema.versions()+" LIMIT 1")
		return err
	})
	outage := time.Since(time.Unix(0, d.unreachableSince.Load()))
	if err == nil || fault.KindOf(err) == fault.Unavailable && outage < bridgedOutage && !d.closed.Load() {
		return nil
	}
	return fault.Wrap(fault.Unavailable, fmt.Errorf("the database does not serve requests: %w", err))
}

// Close waits for the statements in progress, for closeTimeout at most.
func (d *DB) Close() error {
	d.closed.Store(true)
	closed := make(chan struct{})
	go func() { d.pool.Close(); close(closed) }()
	select {
	case <-closed:
		return nil
	case <-time.After(closeTimeout):
		return errors.New("the connections to PostgreSQL could not be closed in time")
	}
}

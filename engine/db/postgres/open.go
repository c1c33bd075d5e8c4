package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"example.com/petstore/engine/db"
)

// Open opens the database at a postgres:// address with one or more hosts, and brings its
// schema up to date. Errors never contain the password.
func (s Schema) Open(ctx context.Context, address string, o db.Options) (*DB, error) {
	logger := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	seen, err := s.connect(ctx, address, logger, true)
	switch {
	case err != nil: // returned below
	case o.RequireSync && !seen.synchronous():
		err = fmt.Errorf("--require-sync: writes need not wait for a standby, or the end of a wait would go unnoticed: "+
			"synchronous_standby_names is %q, synchronous_commit %s and client_min_messages %s", seen.Standbys, seen.Commit, seen.Messages)
	case o.MustExist && seen.version == 0:
		err = s.check(seen.version)
	default:
		_, _, err = s.migrate(ctx, seen, logger)
	}
	if err != nil {
		return nil, explainOpen(address, err)
	}
	return s.newDB(ctx, address, seen, o.RequireSync)
}

// OpenReader opens the database at address as it is: it creates and migrates nothing.
func (s Schema) OpenReader(ctx context.Context, address string) (*DB, error) {
	seen, err := s.connect(ctx, address, slog.New(slog.DiscardHandler), false)
	if err == nil {
		err = s.check(seen.version)
	}
	if err != nil {
		return nil, explainOpen(address, err)
	}
	return s.newDB(ctx, address, seen, false)
}

// Migrate brings the schema of the database at address up to date, creating it if there is
// none, and returns the versions before and after.
func (s Schema) Migrate(ctx context.Context, address string, logger *slog.Logger) (from, to int64, err error) {
	logger = cmp.Or(logger, slog.New(slog.DiscardHandler))
	seen, err := s.connect(ctx, address, logger, true)
	if err == nil {
		from, to, err = s.migrate(ctx, seen, logger)
	}
	return from, to, explainOpen(address, err)
}

// found is what connect finds at an address.
type found struct {
	session
	version int64 // of the schema; 0 if there is none
	config  *pgx.ConnConfig
	known   *lineage
}

// connect opens a connection, returns what it finds, and closes the connection. With writes, it
// rejects a server that may lose them.
func (s Schema) connect(ctx context.Context, address string, logger *slog.Logger, writes bool) (f found, err error) {
	f.known = &lineage{logger: logger, newest: map[string]position{}}
	config, err := s.parse(address, f.known)
	if err != nil {
		return f, err
	}
	f.config = config.ConnConfig
	f.config.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares no statement, for PgBouncer
	if hosts := unverified(address, f.config); len(hosts) > 0 {
		logger.Warn("PostgreSQL's certificate is not verified: use sslmode=verify-full, or sslmode=disable if the network is trusted", "hosts", strings.Join(hosts, ","))
	}
	if err := s.use(ctx, f.config, f.known); err != nil {
		return f, err
	}
	conn, err := pgx.ConnectConfig(ctx, f.config)
	if err != nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	defer conn.Close(ctx)
	f.session = sessionOf(conn)
	f.version, err = s.version(ctx, conn)
	if err == nil {
		err = f.check(writes)
	}
	return f, err
}

// newDB returns the DB at address; seen is what connect has found there. Each connection
// parses the address again, because passwords, certificates and services in files may have changed.
func (s Schema) newDB(ctx context.Context, address string, seen found, requireSync bool) (*DB, error) {
	config, err := s.parse(address, seen.known)
	if err != nil {
		return nil, err
	}
	config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
		now, err := s.parse(address, seen.known)
		if err != nil {
			return err
		}
		*c = *now.ConnConfig
		if seen.pooled && c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement { // the default of pgx
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		return s.use(ctx, c, seen.known)
	}
	config.PrepareConn = func(_ context.Context, c *pgx.Conn) (bool, error) {
		return seen.known.check(sessionOf(c)) == nil, nil
	}
	half := int64(config.MaxConns)
	config.MaxConns *= 2
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &DB{
		Citus: seen.Citus, schema: s, pool: pool, known: seen.known, requireSync: requireSync,
		reads: semaphore.NewWeighted(half), writes: semaphore.NewWeighted(half),
	}, nil
}

// explainOpen formats an error of opening the database at address, if there is one, as one line.
func explainOpen(address string, err error) error {
	if err == nil {
		return nil
	}
	timedOut := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
	e, fromServer := errors.AsType[*pgconn.PgError](err)
	connect, connecting := errors.AsType[*pgconn.ConnectError](err)
	search, searched := errors.AsType[searchError](err)
	switch {
	case searched && (search.several || !fromServer):
		err = fmt.Errorf("%w: %w", db.ErrUnreachable, search)
	case fromServer && e.Code == "3D000": // invalid_catalog_name
		err = fmt.Errorf("%w: %s", db.ErrNoDatabase, e.Message)
	case fromServer && e.Code == "42501" && !connecting: // insufficient_privilege
		err = fmt.Errorf("%w: %s", db.ErrMayNotMigrate, e.Message)
	case fromServer:
		err = errors.New(e.Message)
	case connecting:
		hosts := slices.Compact(strings.Split(connect.Unwrap().Error(), "\n"))
		err = fmt.Errorf("%w: %s", db.ErrUnreachable, strings.Join(hosts, "; "))
	}
	if timedOut {
		err = fmt.Errorf("%w; if the network is slow, set connect_timeout=SECONDS in the address", err)
	}
	return fmt.Errorf("cannot open %s: %w", Redact(address), err)
}

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/db"
)

// Open opens the database at a postgres:// address with one or more hosts, and brings its
// schema up to date. Errors never contain the password.
func Open(ctx context.Context, address string, schema Schema, o db.Options) (*DB, error) {
	seen, err := connect(ctx, address, schema, true, func(conn *pgx.Conn, seen session) error {
		switch {
		case o.RequireSync && !seen.synchronous():
			return fmt.Errorf("--require-sync: writes need not wait for a standby, or the end of a wait would go unnoticed: "+
				"synchronous_standby_names is %q, synchronous_commit %s and client_min_messages %s", seen.Standbys, seen.Commit, seen.Messages)
		case o.MustExist && seen.version == 0:
			return schema.check(seen.version)
		}
		_, _, err := migrate(ctx, conn, schema, seen.pooled, lockWait, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return newDB(ctx, address, schema, seen, o.RequireSync)
}

// OpenReader opens the database at address as it is: it creates and migrates nothing.
func OpenReader(ctx context.Context, address string, schema Schema) (*DB, error) {
	seen, err := connect(ctx, address, schema, false, func(_ *pgx.Conn, seen session) error {
		return schema.check(seen.version)
	})
	if err != nil {
		return nil, err
	}
	return newDB(ctx, address, schema, seen, false)
}

// Migrate brings the schema of the database at address up to date, creating it if there is
// none, and returns the versions before and after.
func Migrate(ctx context.Context, address string, schema Schema, logger *slog.Logger) (from, to int64, err error) {
	_, err = connect(ctx, address, schema, true, func(conn *pgx.Conn, seen session) (err error) {
		from, to, err = migrate(ctx, conn, schema, seen.pooled, lockWait, logger)
		return err
	})
	return from, to, err
}

// connect calls f with a new connection and what that says. With writes, it rejects a server
// that may lose them.
func connect(
	ctx context.Context, address string, schema Schema, writes bool, f func(*pgx.Conn, session) error,
) (seen session, err error) {
	config, err := parse(address, schema.Name)
	if err != nil {
		return seen, err
	}
	config.ConnConfig.ValidateConnect = validate(schema, writes, &seen)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares no statement, for PgBouncer
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return seen, explainOpen(address, err)
	}
	defer disconnect(conn)
	seen.version, err = schema.version(ctx, conn)
	if err == nil {
		err = f(conn, seen)
	}
	if err != nil {
		return seen, explainOpen(address, err)
	}
	return seen, nil
}

// newDB makes the pools of a database whose connections say what seen has.
func newDB(ctx context.Context, address string, schema Schema, seen session, requireSync bool) (*DB, error) {
	reads, err := newPool(ctx, address, schema, seen.pooled, false)
	if err != nil {
		return nil, err
	}
	writes, err := newPool(ctx, address, schema, seen.pooled, true)
	if err != nil {
		reads.Close()
		return nil, err
	}
	return &DB{Citus: seen.Citus, schema: schema, reads: reads, writes: writes, requireSync: requireSync}, nil
}

// newPool makes a pool. It parses the address again for each connection, because passwords,
// certificates and services in files may have changed.
func newPool(ctx context.Context, address string, schema Schema, pooled, writes bool) (*pgxpool.Pool, error) {
	config, err := parse(address, schema.Name)
	if err != nil {
		return nil, err
	}
	config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		now, err := parse(address, schema.Name)
		if err != nil {
			return err
		}
		*c = *now.ConnConfig
		c.ValidateConnect = validate(schema, writes, new(session))
		if pooled && c.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement { // the default of pgx
			c.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
		return nil
	}
	return pgxpool.NewWithConfig(ctx, config)
}

func disconnect(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// explainOpen formats an error of opening the database at address as one line.
func explainOpen(address string, err error) error {
	timedOut := pgconn.Timeout(err) && !errors.Is(err, context.Canceled) // which pgconn counts as one
	e, fromServer := errors.AsType[*pgconn.PgError](err)
	connect, connecting := errors.AsType[*pgconn.ConnectError](err)
	refused, isUnfit := errors.AsType[unfit](err)
	switch {
	case isUnfit: // whatever became of other hosts
		err = refused
	case fromServer && e.Code == "3D000": // invalid_catalog_name
		err = fmt.Errorf("%w: %s", db.ErrNoDatabase, e.Message)
	case fromServer && e.Code == "42501" && !connecting: // insufficient_privilege
		err = fmt.Errorf("%w: %s", db.ErrMayNotMigrate, e.Message)
	case fromServer:
		err = errors.New(e.Message)
	case connecting:
		hosts := slices.Compact(strings.Split(connect.Unwrap().Error(), "\n"))
		err = fmt.Errorf("no writable primary can be reached: %s", strings.Join(hosts, "; "))
	}
	if timedOut {
		err = fmt.Errorf("%w; if the network is slow, set connect_timeout=SECONDS in the address", err)
	}
	return fmt.Errorf("cannot open %s: %w", Redact(address), err)
}

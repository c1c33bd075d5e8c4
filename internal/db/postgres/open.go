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
	logger := cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return open(ctx, address, schema, o, true, func(conn *pgx.Conn, seen session, version int64) error {
		if o.RequireSync && !seen.synchronous() {
			return fmt.Errorf("--require-sync: writes need not wait for a standby, or the end of a wait would go unnoticed: "+
				"synchronous_standby_names is %q, synchronous_commit %s and client_min_messages %s", seen.Standbys, seen.Commit, seen.Messages)
		}
		if o.MustExist && version == 0 {
			return checkVersion(version, schema)
		}
		_, _, err := migrate(ctx, conn, schema, lockWait, logger)
		return err
	})
}

// OpenReader opens the database at address as it is: it creates and migrates nothing.
func OpenReader(ctx context.Context, address string, schema Schema) (*DB, error) {
	return open(ctx, address, schema, db.Options{}, false, func(_ *pgx.Conn, _ session, version int64) error {
		return checkVersion(version, schema)
	})
}

// Migrate brings the schema of the database at address up to date, creating it if there is
// none, and returns the versions before and after.
func Migrate(ctx context.Context, address string, schema Schema, logger *slog.Logger) (from, to int64, err error) {
	d, err := open(ctx, address, schema, db.Options{}, true, func(conn *pgx.Conn, _ session, _ int64) (err error) {
		from, to, err = migrate(ctx, conn, schema, lockWait, logger)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return from, to, d.Close()
}

// open opens the database at address once prepare has accepted it. With writes, it
// rejects a server that may lose them.
func open(
	ctx context.Context, address string, schema Schema, o db.Options, writes bool,
	prepare func(conn *pgx.Conn, seen session, version int64) error,
) (*DB, error) {
	config, err := parse(address, schema.Name)
	if err != nil {
		return nil, err
	}
	first := config.ConnConfig.Copy()
	first.ValidateConnect = validate(schema, writes)
	first.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares no statement, for PgBouncer
	conn, err := pgx.ConnectConfig(ctx, first)
	if err != nil {
		return nil, explainOpen(address, err)
	}
	defer disconnect(conn)
	seen, version, err := look(ctx, conn, schema)
	if err == nil {
		err = prepare(conn, seen, version)
	}
	if err != nil {
		return nil, explainOpen(address, err)
	}
	mode := config.ConnConfig.DefaultQueryExecMode
	if seen.pooled && mode == pgx.QueryExecModeCacheStatement { // the default of pgx
		mode = pgx.QueryExecModeCacheDescribe
	}
	newPool := func(writes bool) (*pgxpool.Pool, error) {
		config := config.Copy()
		// A connection is made by what the environment, the file of passwords and that of
		// services say then.
		config.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
			now, err := parse(address, schema.Name)
			if err != nil {
				return err
			}
			*c = *now.ConnConfig
			c.DefaultQueryExecMode = mode
			c.ValidateConnect = validate(schema, writes)
			return nil
		}
		return pgxpool.NewWithConfig(ctx, config)
	}
	d := &DB{Citus: seen.Citus, schema: schema, requireSync: o.RequireSync}
	if d.reads, err = newPool(false); err != nil {
		return nil, err
	}
	if d.writes, err = newPool(true); err != nil {
		d.reads.Close()
		return nil, err
	}
	return d, nil
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
	switch {
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

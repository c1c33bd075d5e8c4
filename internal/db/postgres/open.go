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
	conn, seen, err := connect(ctx, address, schema, true)
	if err != nil {
		return nil, err
	}
	defer disconnect(conn)
	switch {
	case o.RequireSync && !seen.synchronous():
		err = fmt.Errorf("--require-sync: writes need not wait for a standby, or the end of a wait would go unnoticed: "+
			"synchronous_standby_names is %q, synchronous_commit %s and client_min_messages %s", seen.Standbys, seen.Commit, seen.Messages)
	case o.MustExist && seen.version == 0:
		err = seen.checkVersion(schema)
	default:
		_, _, err = migrate(ctx, conn, schema, lockWait, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
	}
	if err != nil {
		return nil, explainOpen(address, err)
	}
	return newDB(ctx, address, schema, seen, o.RequireSync)
}

// OpenReader opens the database at address as it is: it creates and migrates nothing.
func OpenReader(ctx context.Context, address string, schema Schema) (*DB, error) {
	conn, seen, err := connect(ctx, address, schema, false)
	if err != nil {
		return nil, err
	}
	defer disconnect(conn)
	if err := seen.checkVersion(schema); err != nil {
		return nil, explainOpen(address, err)
	}
	return newDB(ctx, address, schema, seen, false)
}

// Migrate brings the schema of the database at address up to date, creating it if there is
// none, and returns the versions before and after.
func Migrate(ctx context.Context, address string, schema Schema, logger *slog.Logger) (from, to int64, err error) {
	conn, _, err := connect(ctx, address, schema, true)
	if err != nil {
		return 0, 0, err
	}
	defer disconnect(conn)
	from, to, err = migrate(ctx, conn, schema, lockWait, logger)
	if err != nil {
		return 0, 0, explainOpen(address, err)
	}
	return from, to, nil
}

// connect makes a connection, and returns what it says. With writes, it rejects a server that
// may lose them.
func connect(ctx context.Context, address string, schema Schema, writes bool) (*pgx.Conn, session, error) {
	config, err := parse(address, schema.Name)
	if err != nil {
		return nil, session{}, err
	}
	config.ConnConfig.ValidateConnect = validate(schema, writes)
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares no statement, for PgBouncer
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, session{}, explainOpen(address, err)
	}
	seen, err := look(ctx, conn, schema)
	if err != nil {
		disconnect(conn)
		return nil, session{}, explainOpen(address, err)
	}
	return conn, seen, nil
}

// newDB makes the pools of a database for which seen is true.
func newDB(ctx context.Context, address string, schema Schema, seen session, requireSync bool) (*DB, error) {
	newPool := func(writes bool) (*pgxpool.Pool, error) {
		config, err := parse(address, schema.Name)
		if err != nil {
			return nil, err
		}
		mode := config.ConnConfig.DefaultQueryExecMode
		if seen.pooled && mode == pgx.QueryExecModeCacheStatement { // the default of pgx
			mode = pgx.QueryExecModeCacheDescribe
		}
		// Each connection is made by what the environment, the file of passwords and that of
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
	reads, err := newPool(false)
	if err != nil {
		return nil, err
	}
	writes, err := newPool(true)
	if err != nil {
		reads.Close()
		return nil, err
	}
	return &DB{Citus: seen.Citus, schema: schema, reads: reads, writes: writes, requireSync: requireSync}, nil
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

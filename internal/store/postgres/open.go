package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/store"
)

// Open opens the database at dsn, a postgres:// address with one or more hosts,
// and brings its schema up to date. Errors never contain the password.
func Open(ctx context.Context, dsn string, o db.Options) (*Store, error) {
	return open(ctx, dsn, o, true, func(conn *pgx.Conn, seen session) error {
		if o.RequireSync && !seen.synchronous() {
			return fmt.Errorf("--require-sync: writes need not wait for a standby, or the end of a wait would go unnoticed: "+
				"synchronous_standby_names is %q, synchronous_commit %s and client_min_messages %s", seen.Standbys, seen.Commit, seen.Messages)
		}
		if o.MustExist && seen.version == 0 {
			return seen.checkVersion(lastVersion(migrations))
		}
		_, _, err := migrate(ctx, conn, migrations, lockWait, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
		return err
	})
}

// OpenReader opens the store at dsn as it is: it creates and migrates nothing.
func OpenReader(ctx context.Context, dsn string) (store.Reader, error) {
	return open(ctx, dsn, db.Options{}, false, func(_ *pgx.Conn, seen session) error {
		return seen.checkVersion(lastVersion(migrations))
	})
}

// open opens the store at dsn once prepare has accepted its database. With writes, it
// rejects a server that may lose them.
func open(
	ctx context.Context, dsn string, o db.Options, writes bool, prepare func(*pgx.Conn, session) error,
) (*Store, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	first := config.ConnConfig.Copy()
	first.ValidateConnect = validate(writes)
	first.DefaultQueryExecMode = pgx.QueryExecModeExec // prepares no statement, for PgBouncer
	conn, err := pgx.ConnectConfig(ctx, first)
	if err != nil {
		return nil, explainOpen(dsn, err)
	}
	defer disconnect(conn)
	seen, err := look(ctx, conn)
	if err == nil {
		err = prepare(conn, seen)
	}
	if err != nil {
		return nil, explainOpen(dsn, err)
	}
	mode := &config.ConnConfig.DefaultQueryExecMode
	if seen.pooled && *mode == pgx.QueryExecModeCacheStatement { // the default of pgx
		*mode = pgx.QueryExecModeCacheDescribe
	}
	s := &Store{schema: seen.Schema, citus: seen.Citus, requireSync: o.RequireSync}
	config.ConnConfig.ValidateConnect = validate(false)
	if s.reads, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}
	config = config.Copy()
	config.ConnConfig.ValidateConnect = validate(true)
	s.writes, err = pgxpool.NewWithConfig(ctx, config)
	return s, err
}

func disconnect(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// What holds unless the address sets it.
const (
	maxConns    = 16          // of each of the two pools; PostgreSQL allows 100 in all
	maxIdleTime = time.Minute // other processes may want the connection

	// connectTimeout bounds connecting to one host, with the login and the check of the
	// session. pgx tries one after the other, so it must be well below outageWait.
	connectTimeout = time.Second
)

// parse parses dsn. Its errors never contain the password.
func parse(dsn string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	reason := "unexpected @"
	if err != nil {
		_, reason, _ = strings.Cut(err.Error(), "`: ") // cut off the address, which pgx repeats
	}
	if err != nil || Redact(dsn) == hidden {
		return nil, fmt.Errorf("the store address is malformed: %s; in a password, write @ as %%40", reason)
	}
	if !strings.Contains(dsn, "pool_max_conns=") {
		config.MaxConns = maxConns
	}
	if !strings.Contains(dsn, "pool_max_conn_idle_time=") {
		config.MaxConnIdleTime = maxIdleTime
	}
	config.PingTimeout = connectTimeout
	c := config.ConnConfig
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, connectTimeout)
	c.RuntimeParams["application_name"] = cmp.Or(c.RuntimeParams["application_name"], name)
	c.RuntimeParams["client_encoding"] = "UTF8"
	c.OnNotice = keepWarning
	return config, nil
}

const hidden = "postgres://…"

// Redact returns dsn without the password and the parameters, which may contain one, too,
// or nothing of it unless it is clear where the password begins and ends.
func Redact(dsn string) string {
	address, query, _ := strings.Cut(dsn, "?")
	scheme, rest, _ := strings.Cut(address, "://")
	user, hosts, hasUser := strings.Cut(rest, "@")
	_, err := pgconn.ParseConfig(dsn)
	if err != nil || hasUser && strings.Contains(user, "/") || strings.Contains(hosts+query, "@") {
		return hidden
	}
	if name, _, hasPassword := strings.Cut(user, ":"); hasUser && hasPassword {
		return scheme + "://" + name + ":xxxxx@" + hosts
	}
	return address
}

// explainOpen formats an error of opening the database at dsn as one line.
func explainOpen(dsn string, err error) error {
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
	return fmt.Errorf("cannot open %s: %w", Redact(dsn), err)
}

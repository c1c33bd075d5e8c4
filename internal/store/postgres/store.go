// Package postgres implements store.Store on PostgreSQL. Any number
// of processes may use a database at once.
//
// An acknowledged write is committed, and is on a synchronous standby too if the
// server waits for one. When the server fails or another takes its place, the
// store retries reads and idempotent writes, and other writes only if they were
// not executed; see retry.go. A server that hangs keeps its connections for up to
// 15 s after their statements ended, because pgx tries to close them in order.
package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

var _ store.Store = (*Store)(nil)

// name is how the server's views and log call this program.
const name = "petstore"

// Options configures Open. The zero value is valid.
type Options struct {
	RequireSync bool         // refuse a server that does not wait for a synchronous standby
	Logger      *slog.Logger // reports a migration; may be nil
}

// Store is a store.Store in a PostgreSQL database. Writes have a
// pool of their own because a write that waits for a standby keeps its connection.
type Store struct {
	writes, reads *pgxpool.Pool

	citus       bool // the extension is installed
	requireSync bool // for the metric
	closed      atomic.Bool
}

// Open opens the database at dsn, a postgres:// address with one or more hosts,
// and brings its schema up to date. Errors never contain the password.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	s := &Store{requireSync: o.RequireSync}
	err = s.prepare(ctx, config, cmp.Or(o.Logger, slog.New(slog.DiscardHandler)))
	if err == nil {
		s.writes, err = pgxpool.NewWithConfig(ctx, config)
	}
	if err == nil {
		s.reads, err = pgxpool.NewWithConfig(ctx, config)
	}
	if err != nil {
		return nil, explainOpen(dsn, err)
	}
	return s, nil
}

// prepare checks the database and brings its schema up to date. If the backend's
// PID differs from the one announced at login, there is a pooler such as
// PgBouncer in between, and prepare changes config so that statements are not
// kept prepared.
func (s *Store) prepare(ctx context.Context, config *pgxpool.Config, logger *slog.Logger) error {
	mode := config.ConnConfig.DefaultQueryExecMode
	if mode == pgx.QueryExecModeCacheStatement { // the default of pgx
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	defer disconnect(conn)
	var encoding string
	var pid uint32
	err = conn.QueryRow(ctx, `SELECT current_setting('server_encoding'), pg_backend_pid(),
EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')`).Scan(&encoding, &pid, &s.citus)
	switch {
	case err != nil:
		return err
	case encoding != "UTF8":
		return fmt.Errorf("%w but %s", ErrEncoding, encoding)
	case pid == conn.PgConn().PID():
		config.ConnConfig.DefaultQueryExecMode = mode
	}
	nodes, err := readDurability(ctx, conn, s.citus)
	if err != nil {
		return err
	}
	for _, d := range nodes {
		if err := d.check(s.requireSync, config.ConnConfig.User); err != nil {
			return err
		}
	}
	from, to, err := migrate(ctx, conn)
	if err == nil && from < to {
		logger.Info("migrated the schema", "from", from, "to", to)
	}
	return err
}

func disconnect(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// Ping implements pets.Store. It uses a connection for reads, because all those
// for writes may be waiting for a standby.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.Pet(ctx, 0); pets.KindOf(err) != pets.NotFound {
		return &pets.Error{Kind: pets.Unavailable, Message: "the database does not serve requests", Err: err}
	}
	return nil
}

// Failed implements pets.Store. After a server failure, the store reconnects.
func (s *Store) Failed() <-chan error { return nil }

// Close implements pets.Store. It waits for the statements in progress, but for a
// server that hangs only callTimeout.
func (s *Store) Close() error {
	s.closed.Store(true)
	closed := make(chan struct{})
	go func() { s.writes.Close(); s.reads.Close(); close(closed) }()
	select {
	case <-closed:
		return nil
	case <-time.After(callTimeout):
		return errors.New("the connections to PostgreSQL could not be closed in time")
	}
}

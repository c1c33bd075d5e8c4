// Package postgres implements pets.Store and keys.Store on PostgreSQL. Any number of processes
// may use a database at once.
//
// An acknowledged write is committed, and is on a synchronous standby too if the
// server waits for one. All writes except loads are idempotent, so the store
// retries them when the server fails or another takes its place; see retry.go.
package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

var (
	_ pets.Store           = (*Store)(nil)
	_ keys.Store           = (*Store)(nil)
	_ prometheus.Collector = (*Store)(nil)
)

// Options configures Open. The zero value is valid.
type Options struct {
	RequireSync bool // refuse a server that does not wait for a synchronous standby
	Logger      *slog.Logger
}

// Store is a pets.Store and a keys.Store in a PostgreSQL database.
type Store struct {
	config *pgxpool.Config
	log    *slog.Logger

	pools    atomic.Pointer[pools]
	replaced atomic.Uint64 // times that the pools were replaced

	// Idempotency keys for creates without one: the prefix is unique to this
	// Store, the number to one create.
	keyPrefix string
	keyNumber atomic.Int64

	closed atomic.Bool
	mu     sync.Mutex      // held while pools or closed change
	ctx    context.Context // canceled to end the statements in progress
	cancel context.CancelFunc
}

const (
	openTimeout  = 3 * time.Second // for each host; no request is waiting yet
	pingTimeout  = time.Second
	statsTimeout = 500 * time.Millisecond
	closeTimeout = 5 * time.Second // for statements in progress, and again for closing connections
)

// Open opens the database at dsn, a postgres:// address with one or more hosts,
// and brings its schema up to date. Errors never contain the password.
func Open(ctx context.Context, dsn string, o Options) (*Store, error) {
	config, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, config, o.RequireSync); err != nil {
		return nil, explainOpen(dsn, err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{config: config, log: o.Logger, keyPrefix: rand.Text() + "-"}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	p, err := newPools(s.ctx, config)
	if err != nil {
		return nil, explainOpen(dsn, err)
	}
	s.pools.Store(p)
	return s, nil
}

// prepare checks the database and brings its schema up to date. If the backend's
// PID differs from the one announced at login, there is a pooler such as
// PgBouncer in between, and prepare changes config so that statements are not
// kept prepared.
func prepare(ctx context.Context, config *pgxpool.Config, sync bool) error {
	mode := config.ConnConfig.DefaultQueryExecMode
	if mode == pgx.QueryExecModeCacheStatement { // the default of pgx
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	c := config.ConnConfig.Copy()
	c.ConnectTimeout = max(c.ConnectTimeout, openTimeout)
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return err
	}
	defer disconnect(conn)
	var encoding string
	var pid uint32
	err = conn.QueryRow(ctx, "SELECT current_setting('server_encoding'), pg_backend_pid()").Scan(&encoding, &pid)
	switch {
	case err != nil:
		return err
	case encoding != "UTF8":
		return fmt.Errorf("its encoding is %s, not UTF8; create it with ENCODING 'UTF8' TEMPLATE template0", encoding)
	case pid == conn.PgConn().PID():
		config.ConnConfig.DefaultQueryExecMode = mode
	}
	if sync {
		if err := requireSync(ctx, conn); err != nil {
			return err
		}
	}
	return migrate(ctx, conn)
}

func disconnect(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// Ping implements pets.Store. It uses a connection for reads, because all those
// for writes may be waiting for a standby.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	if _, err := s.Pet(ctx, 0); pets.KindOf(err) != pets.NotFound {
		return &pets.Error{Kind: pets.Unavailable, Message: "the database does not serve requests", Err: err}
	}
	return nil
}

// Failed implements pets.Store. After a server failure, the store reconnects.
func (s *Store) Failed() <-chan error { return nil }

// Close implements pets.Store. It takes up to 10 s if writes are waiting for a
// standby.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed.Swap(true)
	s.mu.Unlock()
	if closed {
		return nil
	}
	defer time.AfterFunc(closeTimeout, s.cancel).Stop()
	ctx, done := context.WithTimeout(context.Background(), 2*closeTimeout)
	go func() { s.pools.Load().close(); done() }()
	<-ctx.Done()
	s.cancel()
	return nil
}

// newIdempotency returns a unique idempotency key. No API key has the ID
// "server".
func (s *Store) newIdempotency() pets.Idempotency {
	return pets.Idempotency{KeyID: "server", Key: s.keyPrefix + strconv.FormatInt(s.keyNumber.Add(1), 10)}
}

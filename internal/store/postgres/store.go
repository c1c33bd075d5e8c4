// Package postgres keeps pets and keys in PostgreSQL, for any number of
// processes at once.
//
// An acknowledged write is committed, as durably as the server commits: on a
// synchronous standby too if the server waits for one. Every write can be
// repeated without a second effect, so the store itself tries again when a
// server fails or another takes its place; see retry.go.
package postgres

import (
	"context"
	"crypto/rand"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/pets"
)

var (
	_ pets.Store         = (*Store)(nil)
	_ pets.StatsReporter = (*Store)(nil)
)

// Options of Open. The zero value is valid.
type Options struct {
	RequireSync bool // refuse a server that does not wait for a synchronous standby
	Logger      *slog.Logger
}

// Store is a pets.Store in a PostgreSQL database.
type Store struct {
	config *pgxpool.Config
	log    *slog.Logger

	pools    atomic.Pointer[pools]
	replaced atomic.Uint64 // times that the pools were replaced

	// Idempotency keys of creates whose client sent none: the prefix belongs to
	// this Store, the number to one create.
	keyPrefix string
	keyNumber atomic.Int64

	mu     sync.RWMutex // guards closed and the start of calls
	closed bool
	calls  sync.WaitGroup
	ctx    context.Context // ends while Close runs
	cancel context.CancelFunc
}

const (
	pingTimeout  = time.Second
	statsTimeout = 500 * time.Millisecond
	closeTimeout = 5 * time.Second // of each of the two steps of Close
)

// Open opens the database at dsn, a postgres:// address with one host or
// several, and brings its schema up to date. Errors never show the password.
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

// prepare checks the database and brings its schema up to date.
func prepare(ctx context.Context, config *pgxpool.Config, sync bool) error {
	conn, err := connect(ctx, config)
	if err != nil {
		return err
	}
	defer disconnect(conn)
	if err := requireUTF8(ctx, conn); err != nil {
		return err
	}
	if sync {
		if err := requireSync(ctx, conn); err != nil {
			return err
		}
	}
	return migrate(ctx, conn)
}

// connect opens a connection outside the pools. It gives each host more time
// than a request has.
func connect(ctx context.Context, config *pgxpool.Config) (*pgx.Conn, error) {
	c := config.ConnConfig.Copy()
	c.ConnectTimeout = max(c.ConnectTimeout, 3*time.Second)
	return pgx.ConnectConfig(ctx, c)
}

func disconnect(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	_ = conn.Close(ctx)
}

// Ping implements pets.Store. It asks by the connections for reads, because
// those for writes may all wait for a standby.
func (s *Store) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	var ready bool
	err := s.read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT NOT pg_is_in_recovery()
AND has_table_privilege('pets', 'SELECT, INSERT') AND has_table_privilege('keys', 'SELECT')`).Scan(&ready)
	})
	switch {
	case err != nil:
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is unavailable", Err: err}
	case !ready:
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is read-only, or its user lacks rights to the tables pets and keys"}
	}
	return nil
}

// Failed implements pets.Store. A failed server is replaced by a new connection.
func (s *Store) Failed() <-chan error { return nil }

// Stats implements pets.StatsReporter.
func (s *Store) Stats(ctx context.Context) pets.Stats {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	stats := pets.Stats{SyncStandbys: -1, Replaced: s.replaced.Load()}
	_ = s.read(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		stats.SyncStandbys, err = countSync(ctx, c)
		return err
	})
	p := s.pools.Load()
	for _, pool := range []*pgxpool.Pool{p.writes, p.reads} {
		stat := pool.Stat()
		stats.Connections += int(stat.TotalConns())
		stats.InUse += int(stat.AcquiredConns())
	}
	return stats
}

// Close implements pets.Store. It takes up to 10 s if writes wait for a standby.
func (s *Store) Close() error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if !closed {
		within(closeTimeout, s.calls.Wait)
		s.cancel()
		within(closeTimeout, s.pools.Load().close)
	}
	return nil
}

// begin registers a call, which ends with s.calls.Done, unless s is closed.
func (s *Store) begin() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	s.calls.Add(1)
	return true
}

// within runs f and returns when f does, or after d.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(d):
	}
}

// newIdempotency returns an idempotency key that no other create has. No API
// key has the ID "server".
func (s *Store) newIdempotency() pets.Idempotency {
	return pets.Idempotency{KeyID: "server", Key: s.keyPrefix + strconv.FormatInt(s.keyNumber.Add(1), 10)}
}

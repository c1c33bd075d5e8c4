// Package postgres keeps pets and keys in PostgreSQL, for any number of
// processes at once. It reads and writes the one primary of a cluster and never
// a standby, whose answers may be old.
//
// What is acknowledged has been committed, as durably as the server commits: on
// a synchronous standby too where the server waits for one. What happens when a
// connection breaks in the middle of a write is in retry.go, and how a server
// that hangs is left is in pools.go.
package postgres

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/petstore"
)

var _ petstore.Store = (*Store)(nil)

// Store is a petstore.Store in a PostgreSQL database.
type Store struct {
	config  *pgxpool.Config
	current atomic.Pointer[pools]
	writes  *lane
	reads   *lane

	// What stands in for the idempotency key of a client who sends none:
	// prefix is this process's alone, so a number makes a key of it.
	prefix string
	number atomic.Int64

	mu       sync.RWMutex // held for reading while a write begins
	closed   bool
	left     left
	writing  sync.WaitGroup
	ended    chan struct{} // closed after the last write
	carriers sync.WaitGroup
}

// Open opens the database at address, a postgres:// address with one host or
// several, and brings its schema up to date if need be. It refuses a database
// whose schema is newer than this program or whose text is not UTF-8. Its
// errors never show the password.
func Open(ctx context.Context, address string) (*Store, error) {
	config, err := parse(address)
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context, *pgx.ConnConfig) error{checkEncoding, migrate} {
		err := step(ctx, config.ConnConfig)
		for began := time.Now(); isTimeout(err) && ctx.Err() == nil && time.Since(began) < outageWait; {
			err = step(ctx, config.ConnConfig) // connectTimeout is short for a busy server
		}
		if err != nil {
			return nil, explainOpen(address, err)
		}
	}
	s := &Store{config: config, prefix: rand.Text() + "-", ended: make(chan struct{})}
	p, err := s.newPools()
	if err != nil {
		return nil, explainOpen(address, err)
	}
	s.current.Store(p)
	s.writes = s.newLane(true, func(p *pools) *pgxpool.Pool { return p.writes })
	s.reads = s.newLane(false, func(p *pools) *pgxpool.Pool { return p.reads })
	return s, nil
}

// Ping implements petstore.Store: whether a writable primary can be reached,
// by a connection for writing and one for reading.
func (s *Store) Ping(ctx context.Context) error {
	if s.isClosed() {
		return errClosed
	}
	for _, l := range []*lane{s.writes, s.reads} {
		if err := l.ping(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Failed implements petstore.Store: a server that fails is another process, to
// which a new connection may be made.
func (s *Store) Failed() <-chan error { return nil }

// Close implements petstore.Store. It gives the writes under way closeTimeout,
// which is ample for all but those that wait for a standby.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()

	p := s.current.Load()
	inTime(func() {
		s.writing.Wait()
		close(s.ended)
		s.carriers.Wait()
	})
	p.giveUp()
	inTime(p.close)
	return nil
}

// beginWrite counts a write in, unless the store is closed.
func (s *Store) beginWrite() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false
	}
	s.writing.Add(1)
	return true
}

func (s *Store) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// inTime runs f and returns when it does, or after closeTimeout.
func inTime(f func()) {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

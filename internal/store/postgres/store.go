// Package postgres implements store.Store on PostgreSQL. Any number of processes may use a
// database at once.
//
// An acknowledged write is committed, and is on a synchronous standby too if the server
// waits for one. When the server fails or another takes its place, the store retries reads
// and idempotent writes, and other writes only if they were not executed; see retry.go.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/store"
)

var _ store.Store = (*Store)(nil)

// name is how the server's views and log call this program.
const name = "petstore"

// Store is a store.Store in a PostgreSQL database. Writes have a pool of their own because
// a write that waits for a standby keeps its connection.
type Store struct {
	writes, reads *pgxpool.Pool
	schema        string // of the tables
	citus         bool   // the extension is installed
	requireSync   bool   // for the metric

	closed           atomic.Bool
	unreachableSince atomic.Int64 // according to Ping, in nanoseconds; 0 if it is reachable
}

// Ping implements pets.Store. It uses a connection for reads, because all those
// for writes may be waiting for a standby. All processes share the database, so it
// succeeds while the server has been unreachable for less than bridgedOutage.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.Pet(ctx, 0)
	if s.pingSucceeds(fault.KindOf(err), time.Now()) {
		return nil
	}
	return fault.Wrap(fault.Unavailable, fmt.Errorf("the database does not serve requests: %w", err))
}

// pingSucceeds reports whether Ping succeeds if looking for a pet that does not exist
// ended with an error of a kind at the time now.
func (s *Store) pingSucceeds(kind fault.Kind, now time.Time) bool {
	if kind != fault.Unavailable || s.closed.Load() {
		s.unreachableSince.Store(0)
		return kind == fault.NotFound
	}
	if s.unreachableSince.CompareAndSwap(0, now.UnixNano()) {
		return true
	}
	return now.Sub(time.Unix(0, s.unreachableSince.Load())) < bridgedOutage
}

// Failed implements pets.Store. After a server failure, the store reconnects.
func (s *Store) Failed() <-chan error { return nil }

// Close implements pets.Store. It waits for the statements in progress, for callTimeout at
// most: pgx would wait 15 s for each connection to a server that hangs.
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

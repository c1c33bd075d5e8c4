// Package postgres keeps pets and keys in PostgreSQL, for any number of
// processes at once. It holds the SQL: the statements, the schema and the import.
// The package primary runs the statements on the primary of a cluster, together
// with those of other callers, and survives its failover.
//
// An acknowledged write has been committed, as durably as the server commits: on
// a synchronous standby too where the server waits for one.
package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/postgres/primary"
)

var (
	_ pets.Store         = (*Store)(nil)
	_ pets.StatsReporter = (*Store)(nil)
)

// Store is a pets.Store in a PostgreSQL database.
type Store struct {
	db *primary.DB

	// Of the idempotency keys that the store makes where the client sends none:
	// the prefix belongs to this process, the counter to one key.
	keyPrefix  string
	keyCounter atomic.Int64
}

// busyWait is how long Open tries again while a server is too busy to respond
// within the half second that a host has for a connection.
const busyWait = 3 * time.Second

// CheckAddress returns an error where Open would refuse the address without asking a
// server. It reads the files that the address names, such as a certificate.
func CheckAddress(address string) error { return primary.CheckAddress(address) }

// Open opens the database at address, a postgres:// address with one host or
// several, and brings its schema up to date if need be. It refuses a database
// whose schema is newer than this program or whose text is not UTF-8. Its
// errors never show the password.
func Open(ctx context.Context, address string) (*Store, error) {
	return openAfter(ctx, address, checkEncoding, migrate)
}

// OpenReadOnly is Open for a caller who only reads: it refuses a database whose
// schema is older than this program, since others work on it.
func OpenReadOnly(ctx context.Context, address string) (*Store, error) {
	return openAfter(ctx, address, checkEncoding, checkSchema)
}

// IsOlder reports whether the schema of the database at address is older than this
// program's, as that of an empty one is. It changes nothing.
func IsOlder(ctx context.Context, address string) (older bool, err error) {
	s, err := openAfter(ctx, address, checkEncoding, func(ctx context.Context, db *primary.DB) error {
		version, latest, err := versions(ctx, db)
		older = version < latest
		return err
	})
	if err != nil {
		return false, err
	}
	return older, s.Close()
}

func openAfter(ctx context.Context, address string, steps ...func(context.Context, *primary.DB) error) (*Store, error) {
	db, err := primary.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		err := step(ctx, db)
		for began := time.Now(); primary.IsTimeout(err) && ctx.Err() == nil && time.Since(began) < busyWait; {
			err = step(ctx, db)
		}
		if err != nil {
			db.Close()
			return nil, explainOpen(address, err)
		}
	}
	return &Store{db: db, keyPrefix: rand.Text() + "-"}, nil
}

// checkEncoding refuses a database that cannot hold every name: in any other
// encoding than UTF8 some text has no bytes, or (SQL_ASCII) any bytes are text.
func checkEncoding(ctx context.Context, db *primary.DB) error {
	return db.Once(ctx, func(c *pgx.Conn) error {
		encoding, err := primary.Setting(ctx, c, "server_encoding")
		if err == nil && encoding != "UTF8" {
			err = fmt.Errorf("its encoding is %s and not UTF8; create it with ENCODING 'UTF8' TEMPLATE template0", encoding)
		}
		return err
	})
}

// Failed implements pets.Store: a server that fails is another process, to
// which a new connection may be made.
func (s *Store) Failed() <-chan error { return nil }

// Close implements pets.Store. It takes up to 10 s where writes wait for a
// standby.
func (s *Store) Close() error {
	s.db.Close()
	return nil
}

// RequireSync returns an error unless every commit waits for a standby, and such
// a standby is there.
func (s *Store) RequireSync(ctx context.Context) error { return s.db.RequireSync(ctx) }

// ReadStandbys has standbys serve pets and pages, exactly as the primary would. It
// returns an error where they could not. It logs which servers are fit, until
// Close. Call it once, before other calls.
func (s *Store) ReadStandbys(ctx context.Context, log *slog.Logger) error {
	return s.db.ReadStandbys(ctx, log)
}

// Monitor logs, until Close, that an old primary accepts writes and, with
// requireSync, that no standby is synchronous. Call it once.
func (s *Store) Monitor(log *slog.Logger, requireSync bool) { s.db.Monitor(log, requireSync) }

// Stats implements pets.StatsReporter. The figures of the hosts are those of
// the last check of Monitor.
func (s *Store) Stats(context.Context) pets.Stats {
	state := s.db.State()
	cluster := &pets.ClusterStats{
		Timeline:     state.Timeline,
		OldPrimaries: len(state.OldPrimaries),
		SyncStandbys: state.Standbys,
		Abandoned:    state.Switches,
		Outage:       state.BreakerOpen,
		Connections:  state.Connections,
		InUse:        state.InUse,
	}
	if state.Hosts != nil {
		cluster.Reads, cluster.Hosts = map[pets.ReadBy]uint64{}, map[string]pets.StandbyStats{}
	}
	for by, n := range state.Reads {
		cluster.Reads[pets.ReadBy(by)] = n
	}
	for addr, host := range state.Hosts {
		cluster.Hosts[addr] = pets.StandbyStats(host)
	}
	return pets.Stats{Cluster: cluster}
}

// serverMade is the scope of the idempotency keys that the store itself makes.
// No API key has such an ID.
const serverMade = "server"

// newIdempotency returns an idempotency key that no other write has.
func (s *Store) newIdempotency() pets.Idempotency {
	return pets.Idempotency{KeyID: serverMade, Key: s.keyPrefix + strconv.FormatInt(s.keyCounter.Add(1), 10)}
}

// Package primary runs the statements of concurrent callers on the primary of a
// PostgreSQL cluster, and on request exact reads on its standbys. It knows no schema.
//
// pgxpool gives each caller a connection and returns its error. Durable writes
// through a failover need more. Each part is here for the harm that it prevents:
//
//   - batcher.go, execute.go: calls share a round trip and a commit. Without
//     them a create takes three times the processor time, a list twice.
//   - retry.go, errors.go: a call survives a failover. Without them each call
//     under way fails. pgx reports success after an aborted wait for a standby,
//     and allows to retry after "conn closed" (jackc/pgx issue 2557).
//   - pools.go, watchdog.go: a hung primary is abandoned within 3 s, and not
//     after the 15 s of pgx (pgconn.go:840, pgxpool/pool.go:325).
//   - timeline.go: pgx takes the first host that accepts writes (issue 2207).
//     After a partition that may be the old primary, whose writes are all lost.
//   - cancel.go: pgx sends a cancel request for each connection it drops
//     (pgconn.go:845, issue 679). PgBouncer keeps them for a hung server, and
//     without this part no write succeeds for a minute.
//   - readable_unix.go: one system call finds a dead connection. Without it a server
//     that is gone is a 500 after 8 s, and not a 503 after 3 s.
//   - breaker.go: in an outage calls fail at once, and not after 3 s each. A
//     breaker that counts failures (gobreaker) opens too early or 3 s late.
//   - position.go, exact.go, visible.go, standbys.go: reads grow with the standbys
//     and stay exact. Without them a cluster serves no more reads than one machine.
package primary

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// closeTimeout bounds each of the two steps of Close. Together they stay below
// the 20 s in which serve finishes its requests.
const closeTimeout = 5 * time.Second

// DB runs statements on the primary of one cluster. Its methods are safe for
// concurrent use.
type DB struct {
	cluster       *cluster
	writes, reads *executor
	monitor       *monitor
	standbys      *standbys // nil where the primary serves all reads

	mu      sync.RWMutex // held for reading while a call begins
	closed  bool
	calls   sync.WaitGroup
	closing context.Context // ends when Close begins
	cancel  context.CancelFunc
}

// Open reads the address, which has one host or several, and compares the hosts.
// It succeeds where no primary can be reached: the first statement fails then.
// Its errors never show the password.
func Open(ctx context.Context, address string) (*DB, error) {
	config, err := parse(address)
	if err != nil {
		return nil, err
	}
	cl, err := newCluster(ctx, config)
	if err != nil {
		return nil, err
	}
	db := &DB{cluster: cl, writes: newExecutor(cl, true), reads: newExecutor(cl, false), monitor: &monitor{cluster: cl}}
	db.closing, db.cancel = context.WithCancel(context.Background())
	return db, nil
}

// Write runs a statement and returns once it is committed. The statement must
// have no effect when it runs a second time. Write retries until ctx ends, or
// for 10 s where ctx has no deadline.
func (db *DB) Write(ctx context.Context, st Statement) error { return db.run(ctx, db.writes, st) }

// Read runs a statement that changes nothing. It retries as Write does.
func (db *DB) Read(ctx context.Context, st Statement) error { return db.run(ctx, db.reads, st) }

func (db *DB) run(ctx context.Context, e *executor, st Statement) error {
	if !db.begin() {
		return ErrClosed
	}
	defer db.calls.Done()
	if db.standbys != nil && st.WithXmin != "" {
		if done, err := db.standbys.read(ctx, st); done || err != nil {
			return err
		}
	}
	return e.run(ctx, st)
}

// ReadStandbys has standbys serve the reads that have WithXmin, exactly as the
// primary would. It returns an error where they could not. It logs which hosts are
// fit, and checks that every 500 ms until Close. Call it once, before Read.
func (db *DB) ReadStandbys(ctx context.Context, log *slog.Logger) error {
	if err := requireExact(ctx, db.cluster); err != nil {
		return err
	}
	var err error
	if db.standbys, err = newStandbys(db.reads, log); err != nil {
		return err
	}
	db.standbys.watch(db.closing, &db.calls)
	return nil
}

// Ping returns nil if a primary runs the statements, which change nothing: writing on a
// connection for writes, and reading on a connection for reads.
func (db *DB) Ping(ctx context.Context, writing, reading []Statement) error {
	if !db.begin() {
		return ErrClosed
	}
	defer db.calls.Done()
	if err := db.writes.ping(ctx, writing); err != nil {
		return err
	}
	return db.reads.ping(ctx, reading)
}

// Dedicated runs f with a connection of its own, for work that takes longer than
// a request. It waits up to 10 s for a primary, and runs f at most once.
func (db *DB) Dedicated(ctx context.Context, f func(*pgx.Conn) error) error {
	if !db.begin() {
		return ErrClosed
	}
	defer db.calls.Done()
	return dedicated(ctx, db.cluster, f)
}

// Once runs f with a connection of its own and does not retry.
func (db *DB) Once(ctx context.Context, f func(*pgx.Conn) error) error {
	return once(ctx, db.cluster.config.ConnConfig, f)
}

// ConnConfig returns the configuration of a single connection to the primary.
func (db *DB) ConnConfig() *pgx.ConnConfig { return db.cluster.config.ConnConfig.Copy() }

// RequireSync returns an error unless every commit waits for a standby, and such
// a standby is there.
func (db *DB) RequireSync(ctx context.Context) error {
	return db.Once(ctx, func(c *pgx.Conn) error { return requireSync(ctx, c) })
}

// Monitor compares all hosts at once and every 5 s until Close. It logs an old
// primary that still accepts writes, and abandons it if it is in use. With
// warnWithoutStandby it logs that there is no synchronous standby. Call it once.
func (db *DB) Monitor(log *slog.Logger, warnWithoutStandby bool) {
	if db.begin() {
		go func() {
			defer db.calls.Done()
			db.monitor.run(db.closing, log, warnWithoutStandby)
		}()
	}
}

// State is the state of the cluster as far as it is known, for metrics.
type State struct {
	Timeline     uint32   // the highest timeline seen; 0 where no server tells
	OldPrimaries []string // addresses of servers on a lower timeline that accept writes
	Standbys     int      // synchronous standbys of the primary; -1 where unknown
	Switches     uint64   // how often a server was abandoned since Open
	BreakerOpen  bool     // whether calls fail at once because of an outage
	InUse        int      // connections on which statements run
	Connections  int      // open connections, idle ones too

	// Nil without ReadStandbys.
	Reads map[Reads]uint64
	Hosts map[string]Standby // by host:port, the primary too
}

// State returns the state of the cluster. OldPrimaries and Standbys are from the
// last check of Monitor.
func (db *DB) State() State {
	s := State{
		Timeline:    db.cluster.timeline.highest.Load(),
		Standbys:    -1,
		Switches:    db.cluster.switches.Load(),
		BreakerOpen: db.writes.breaker.open() || db.reads.breaker.open(),
	}
	if last := db.monitor.latest.Load(); last != nil {
		s.OldPrimaries, s.Standbys = last.oldPrimaries, last.standbys
	}
	p := db.cluster.current.Load()
	pools := []*pgxpool.Pool{p.writes, p.reads}
	if db.standbys != nil {
		s.Reads, s.Hosts = db.standbys.state()
		for _, h := range db.standbys.hosts {
			pools = append(pools, h.pool)
		}
	}
	for _, pool := range pools {
		pool := pool.Stat()
		s.InUse += int(pool.AcquiredConns())
		s.Connections += int(pool.TotalConns())
	}
	return s
}

// Close refuses new calls, waits for those that run and closes all connections.
// It gives the calls 5 s, and the connections another 5 s.
func (db *DB) Close() {
	db.mu.Lock()
	if db.closed {
		db.mu.Unlock()
		return
	}
	db.closed = true
	db.mu.Unlock()

	db.cancel()
	within(closeTimeout, func() {
		db.calls.Wait()
		db.writes.close()
		db.reads.close()
		if db.standbys != nil {
			db.standbys.close()
		}
	})
	within(closeTimeout, db.cluster.close)
}

// begin counts a call, unless the DB is closed.
func (db *DB) begin() bool {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if db.closed {
		return false
	}
	db.calls.Add(1)
	return true
}

// within runs f and returns when f does, or after d.
func within(d time.Duration, f func()) {
	done := make(chan struct{})
	go func() { f(); close(done) }()
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// hangAfter is how long a statement may go unanswered before watch checks
// whether the server hangs.
const hangAfter = 1500 * time.Millisecond

// pools holds the connections to one primary. Writes have a pool of their own
// because a write that waits for a standby keeps its connection.
type pools struct {
	writes, reads *pgxpool.Pool

	ctx    context.Context // ends when the pools are replaced or the store is closed
	cancel context.CancelFunc
	server atomic.Value // string: the server of the newest connection
	asking atomic.Bool
}

func newPools(ctx context.Context, config *pgxpool.Config) (*pools, error) {
	p := &pools{}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.server.Store("")
	config = config.Copy()
	config.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		server, err := identify(ctx, c)
		c.PgConn().CustomData()[serverKey] = server
		p.server.Store(server)
		return err
	}
	var errs [2]error
	p.writes, errs[0] = pgxpool.NewWithConfig(p.ctx, config)
	p.reads, errs[1] = pgxpool.NewWithConfig(p.ctx, config)
	return p, errors.Join(errs[:]...)
}

// close waits for statements in progress and closes the connections. Closing
// them takes 15 s if the server hangs.
func (p *pools) close() {
	p.writes.Close()
	p.reads.Close()
}

// serverKey is the key in a connection's CustomData for the result of identify.
const serverKey = "server"

func serverOf(c *pgx.Conn) string { return c.PgConn().CustomData()[serverKey].(string) }

// identify returns the address and start time of a server. The address alone is
// not enough, because it may lead to another server after a failover.
func identify(ctx context.Context, c *pgx.Conn) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var started string
	err := c.QueryRow(ctx, "SELECT pg_postmaster_start_time()::text", pgx.QueryExecModeSimpleProtocol).Scan(&started)
	return fmt.Sprintf("%s, up since %s", c.PgConn().Conn().RemoteAddr(), started), err
}

// watch checks every hangAfter whether the server hangs, until ctx is done or
// the timer is stopped. It calls cancel once the pools are replaced. server
// holds the server that is waited for: at first the one connected to last, then
// that of the connection in use.
func (s *Store) watch(ctx context.Context, cancel context.CancelFunc, p *pools, server *atomic.Value) *time.Timer {
	return time.AfterFunc(hangAfter, func() {
		for p.ctx.Err() == nil {
			s.replaceIfHung(p, server)
			select {
			case <-p.ctx.Done():
			case <-ctx.Done():
				return
			case <-time.After(hangAfter):
			}
		}
		cancel()
	})
}

// replaceIfHung replaces p unless the server answers on a new connection. A
// server that answers is only busy: its statements keep waiting, for a lock or a
// standby. A pooler that accepts a login but delays the first statement is also
// only busy. The pools are replaced as a whole because pgxpool takes up to 15 s
// to free the slot of a dropped connection if the server hangs.
func (s *Store) replaceIfHung(p *pools, server *atomic.Value) {
	if server.Load() == "" || !p.asking.CompareAndSwap(false, true) {
		return
	}
	defer p.asking.Store(false)
	queued, now := false, ""
	config := s.config.ConnConfig.Copy()
	config.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		err := s.config.ConnConfig.ValidateConnect(ctx, c)
		queued = pgconn.Timeout(err)
		return err
	}
	conn, err := pgx.ConnectConfig(p.ctx, config)
	if err == nil {
		now, err = identify(p.ctx, conn)
		queued = pgconn.Timeout(err)
		disconnect(conn)
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	refused := ok && (strings.HasPrefix(e.Code, "53") || e.Code == "57P03") // the server only refuses new connections
	if now == server.Load() || queued || refused {
		return
	}
	s.replace(p, server.Load().(string))
}

// replace makes new pools and closes p in the background.
func (s *Store) replace(p *pools, server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() || s.pools.Load() != p {
		return
	}
	fresh, err := newPools(s.ctx, s.config)
	if err != nil {
		return // impossible: the configuration has worked before
	}
	s.pools.Store(fresh)
	s.replaced.Add(1)
	s.log.Warn("the database does not respond; replacing its connections", "server", server)
	p.cancel()
	go p.close()
}

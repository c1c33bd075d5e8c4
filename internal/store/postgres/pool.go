package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// hangAfter is how long a server may leave a statement without an answer until
// it is asked whether it hangs.
const hangAfter = 1500 * time.Millisecond

// pools are the connections to one primary. Writes have their own, because
// those that wait for a standby keep their connections.
type pools struct {
	writes, reads *pgxpool.Pool

	ctx    context.Context // ends when the pools are replaced or the store is closed
	cancel context.CancelFunc
	server atomic.Value // string: the address of the server connected to last
	asking atomic.Bool
}

func newPools(ctx context.Context, config *pgxpool.Config) (*pools, error) {
	p := &pools{}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.server.Store("")
	config = config.Copy()
	config.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		p.server.Store(serverOf(c))
		return nil
	}
	var errs [2]error
	p.writes, errs[0] = pgxpool.NewWithConfig(p.ctx, config)
	p.reads, errs[1] = pgxpool.NewWithConfig(p.ctx, config)
	return p, errors.Join(errs[:]...)
}

// close waits for the statements in progress and closes the connections. The
// latter takes 15 s if the server hangs.
func (p *pools) close() {
	p.writes.Close()
	p.reads.Close()
}

func serverOf(c *pgx.Conn) string { return c.PgConn().Conn().RemoteAddr().String() }

// watch asks every hangAfter, until ctx ends or the timer is stopped, whether
// the server hangs. It calls cancel once the pools are replaced.
func (s *Store) watch(ctx context.Context, cancel context.CancelFunc, p *pools, server func() string) *time.Timer {
	return time.AfterFunc(hangAfter, func() {
		for p.ctx.Err() == nil {
			s.replaceIfHung(p, server())
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

// replaceIfHung replaces the pools p unless the server answers on a new
// connection. A server that answers is only busy: its statements go on waiting,
// for a lock or a standby. The pools are replaced as a whole because pgxpool
// keeps the place of a dropped connection for up to 15 s if the server hangs.
func (s *Store) replaceIfHung(p *pools, server string) {
	if server == "" || !p.asking.CompareAndSwap(false, true) {
		return
	}
	defer p.asking.Store(false)
	conn, err := pgx.ConnectConfig(p.ctx, s.config.ConnConfig.Copy())
	if err == nil {
		now := serverOf(conn)
		disconnect(conn)
		if now == server {
			return
		}
	} else if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code[:2] == "53" || e.Code == "57P03") {
		return // it only refuses another connection
	}
	s.replace(p, server)
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
		return // impossible: the same configuration has made pools before
	}
	s.pools.Store(fresh)
	s.replaced.Add(1)
	s.log.Warn("the database does not answer; its connections are replaced", "server", server)
	p.cancel()
	go p.close()
}

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

const (
	// hangAfter is how long a server may leave a statement without an answer
	// until it is asked whether it hangs.
	hangAfter = 1500 * time.Millisecond

	// replaceInterval is the least time between two replacements of the pools.
	// A pooler before a server that hangs would collect connections otherwise.
	replaceInterval = 5 * time.Second
)

// pools are the connections to one primary. Writes have their own, because
// those that wait for a standby keep their connections.
type pools struct {
	writes, reads *pgxpool.Pool

	ctx    context.Context // ends when the pools are replaced or the store is closed
	cancel context.CancelFunc
	since  time.Time    // when they replaced others; zero for the first
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
	var err error
	if p.writes, err = pgxpool.NewWithConfig(p.ctx, config); err != nil {
		return nil, err
	}
	if p.reads, err = pgxpool.NewWithConfig(p.ctx, config); err != nil {
		p.writes.Close()
		return nil, err
	}
	return p, nil
}

// close ends all statements. It takes 15 s if the server hangs.
func (p *pools) close() {
	p.cancel()
	p.writes.Close()
	p.reads.Close()
}

func serverOf(c *pgx.Conn) string { return c.PgConn().Conn().RemoteAddr().String() }

// watch asks again and again, until ctx ends or the timer is stopped, whether
// the server hangs that owes an answer.
func (s *Store) watch(ctx context.Context, p *pools, server string) *time.Timer {
	return time.AfterFunc(hangAfter, func() {
		for ctx.Err() == nil {
			s.replaceIfHung(p, server)
			sleep(ctx, hangAfter)
		}
	})
}

// replaceIfHung replaces the pools p unless the server answers on a new
// connection. A server that answers is only busy: its statements go on waiting,
// for a lock or a standby. The pools are replaced as a whole because pgxpool
// keeps the place of a dropped connection for up to 15 s if the server hangs.
func (s *Store) replaceIfHung(p *pools, server string) {
	if server == "" || time.Since(p.since) < replaceInterval || !p.asking.CompareAndSwap(false, true) {
		return
	}
	defer p.asking.Store(false)
	config := s.config.ConnConfig.Copy()
	config.ConnectTimeout = max(config.ConnectTimeout, 2*connectTimeout)
	conn, err := pgx.ConnectConfig(p.ctx, config)
	switch {
	case err == nil:
		now := serverOf(conn)
		disconnect(conn)
		if now == server {
			return
		}
	case answers(err):
		return
	}
	s.replace(p, server)
}

// answers reports whether err is that of a server that lives but refuses a
// connection for the time being.
func answers(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (e.Code[:2] == "53" || e.Code == "57P03")
}

// replace makes new pools and closes p in the background.
func (s *Store) replace(p *pools, server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.pools.Load() != p {
		return
	}
	fresh, err := newPools(s.ctx, s.config)
	if err != nil {
		return // impossible: the same configuration has made pools before
	}
	fresh.since = time.Now()
	s.pools.Store(fresh)
	s.replaced.Add(1)
	s.log.Warn("the database does not answer; its connections are replaced", "server", server)
	p.cancel()
	go p.close()
}

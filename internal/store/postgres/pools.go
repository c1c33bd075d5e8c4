package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// patience is how long a statement may take before the server is suspected of
// hanging and asked by a new connection. Together with two connectTimeouts, to
// find the server dead and to find it dead again on the way to its successor,
// it stays below the 3 s in which a hung primary is to be left.
const patience = time.Second

// leaveAgain is how long a server that was left, and reached again, is not left
// once more: leaving has not helped. Behind PgBouncer that has no connection
// left, every leaving adds as many sessions to the server as its pool has. It is
// longer than a request, so that some are refused in time.
const leaveAgain = retryFor

// left is the server that was left last.
type left struct {
	server string
	at     time.Time
}

// pools are the connections to one primary. Those for writing are apart from
// those for reading, so that writes that wait for a standby, and keep their
// connections, do not keep readers out.
type pools struct {
	writes, reads *pgxpool.Pool

	ctx     context.Context // ends when the primary is given up
	giveUp  context.CancelFunc
	server  atomic.Pointer[string] // that the latest connection is to; nil before the first
	probing atomic.Bool
}

// newPools makes pools that connect when they are first used.
func (s *Store) newPools() (*pools, error) {
	p := &pools{}
	p.ctx, p.giveUp = context.WithCancel(context.Background())
	config := s.config.Copy()
	config.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		server := serverOf(c)
		c.PgConn().CustomData()[connectedTo] = &server
		p.server.Store(&server)
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

// connectedTo is where a connection of the pools has its server's address.
const connectedTo = "petstore.server"

func serverOf(c *pgx.Conn) string { return c.PgConn().Conn().RemoteAddr().String() }

// close takes as long as pgx takes to part with connections: 15 s for one to a
// server that hangs.
func (p *pools) close() {
	p.writes.Close()
	p.reads.Close()
}

// watch has the server suspected every patience until the timer is stopped: the
// one that on names, once there is a connection, or else p's latest. They differ
// where the primary hangs and p has connections to its successor already.
func (s *Store) watch(p *pools, on *atomic.Pointer[string]) (stop func()) {
	var t *time.Timer
	var stopped atomic.Bool
	t = time.AfterFunc(time.Hour, func() {
		if stopped.Load() {
			return
		}
		server := on.Load()
		if server == nil {
			server = p.server.Load()
		}
		if server != nil {
			s.suspect(p, *server)
		}
		t.Reset(patience)
	})
	t.Reset(patience)
	return func() { stopped.Store(true); t.Stop() }
}

// suspect leaves the server at that address unless a new connection to it
// answers. A busy server answers: statements that wait for a lock or a standby
// go on waiting.
func (s *Store) suspect(p *pools, server string) {
	if p.ctx.Err() != nil || !p.probing.CompareAndSwap(false, true) {
		return
	}
	defer p.probing.Store(false)
	found := ""
	err := once(p.ctx, s.config.ConnConfig, func(c *pgx.Conn) error {
		found = serverOf(c)
		ctx, cancel := context.WithTimeout(p.ctx, connectTimeout)
		defer cancel()
		return c.Ping(ctx)
	})
	if (err == nil && found == server) || isCrowded(err) {
		return
	}
	s.leave(p, server)
}

// leave has everything from now on, and what waits for an answer of p, begin
// with new pools. Those of p are closed in the background.
func (s *Store) leave(p *pools, server string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.current.Load() != p || s.left.server == server && time.Since(s.left.at) < leaveAgain {
		return
	}
	fresh, err := s.newPools()
	if err != nil {
		return // not of a configuration that has made pools before
	}
	s.current.Store(fresh)
	s.left = left{server, time.Now()}
	p.giveUp()
	go p.close()
}

package primary

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pools are the connections to one primary. Writes have connections of their
// own, because writes that wait for a standby keep theirs.
type pools struct {
	writes, reads *pgxpool.Pool

	ctx     context.Context // ends when the pools are abandoned
	abandon context.CancelFunc
	latest  atomic.Pointer[server] // of the latest connection; nil before the first
	probing atomic.Bool
}

// newPools makes pools that connect when they are first used.
func newPools(config *pgxpool.Config, t *timeline) (*pools, error) {
	p := &pools{}
	p.ctx, p.abandon = context.WithCancel(context.Background())
	config = config.Copy()
	config.ConnConfig.ValidateConnect = func(ctx context.Context, c *pgconn.PgConn) error {
		if err := t.validate(ctx, c); err != nil {
			return err
		}
		s := serverOf(c)
		p.latest.Store(&s)
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

func (p *pools) acquire(write bool, b *breaker) (*pgxpool.Conn, error) {
	if !b.allow() {
		return nil, errOpen
	}
	pool := p.reads
	if write {
		pool = p.writes
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.ctx, outageWait)
	defer cancel()
	c, err := pool.Acquire(ctx)
	switch {
	case err == nil:
		b.success()
	case p.ctx.Err() == nil: // the pools are not abandoned
		b.failure(began)
	}
	return c, err
}

// close takes as long as pgx takes to close the connections: 15 s for one to a
// server that hangs.
func (p *pools) close() {
	p.writes.Close()
	p.reads.Close()
}

package primary

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// cluster is the hosts of an address, and the pools of connections to the host
// that is the primary now.
type cluster struct {
	config   *pgxpool.Config
	hosts    []*pgx.ConnConfig // each host by itself
	timeline timeline
	current  atomic.Pointer[pools]
	switches atomic.Uint64

	mu            sync.Mutex
	closed        bool
	lastAbandoned struct {
		addr string
		at   time.Time
	}
}

func newCluster(config *pgxpool.Config) *cluster {
	cl := &cluster{config: config, hosts: eachHost(config.ConnConfig)}
	config.ConnConfig.ValidateConnect = cl.timeline.validate
	config.PrepareConn = cl.timeline.prepareConn
	return cl
}

// withConn runs f with a connection of the current pools and a context that ends
// when they are abandoned. While f runs a watchdog looks after the server.
func (cl *cluster) withConn(write bool, b *breaker, f func(context.Context, *pgx.Conn) error) error {
	p := cl.current.Load()
	var inUse atomic.Pointer[server]
	defer cl.watch(p, &inUse)()
	c, err := p.acquire(write, b)
	if err != nil {
		return &Error{Outcome: NotExecuted, Err: err}
	}
	defer c.Release()
	s := serverOf(c.Conn().PgConn())
	inUse.Store(&s)
	ctx := p.ctx
	if !write {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, retryFor)
		defer cancel()
	}
	err = f(ctx, c.Conn())
	if err == nil && cl.timeline.isStale(s) {
		err = errStale // another connection has met the successor meanwhile
	}
	if isDemoted(err) {
		// Released open, it would be used again.
		closing, cancel := context.WithTimeout(p.ctx, connectTimeout)
		defer cancel()
		_ = c.Conn().Close(closing)
	}
	return err
}

// close ends all statements and connections.
func (cl *cluster) close() {
	cl.mu.Lock()
	cl.closed = true
	cl.mu.Unlock()
	p := cl.current.Load()
	p.abandon()
	p.close()
}

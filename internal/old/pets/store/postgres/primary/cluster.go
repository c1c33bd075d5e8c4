package primary

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// abandonInterval is how long a server that was abandoned, and reached again, is not
// abandoned a second time: the first time did not help. Behind PgBouncer without a
// free connection each switch adds as many sessions to the server as its pool has.
// The interval is longer than a request, so that some calls are refused in time.
const abandonInterval = retryFor

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

// newCluster compares the hosts, if there are several. It succeeds where none can
// be reached.
func newCluster(ctx context.Context, config *pgxpool.Config) (*cluster, error) {
	cl := &cluster{config: config, hosts: eachHost(config.ConnConfig)}
	config.ConnConfig.ValidateConnect = cl.timeline.validate
	config.PrepareConn = cl.timeline.prepareConn
	if len(cl.hosts) > 1 {
		cl.survey(ctx, outageWait)
	}
	p, err := newPools(config, &cl.timeline)
	cl.current.Store(p)
	return cl, err
}

// survey asks every host at once for its timeline, and notes the highest.
func (cl *cluster) survey(ctx context.Context, d time.Duration) []host {
	hosts := survey(ctx, cl.hosts, d)
	for _, h := range hosts {
		cl.timeline.see(h.server)
	}
	return hosts
}

// switchPools replaces p by new pools. Statements that wait for a response on p
// begin again with the new pools. p closes in the background.
func (cl *cluster) switchPools(p *pools, from server) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	last := &cl.lastAbandoned
	again := last.addr == from.addr && time.Since(last.at) < abandonInterval && !cl.timeline.isStale(from)
	if cl.closed || cl.current.Load() != p || again {
		return
	}
	fresh, err := newPools(cl.config, &cl.timeline)
	if err != nil {
		return // impossible with a configuration that has made pools before
	}
	cl.current.Store(fresh)
	cl.switches.Add(1)
	last.addr, last.at = from.addr, time.Now()
	p.abandon()
	go p.close()
}

// abandonStale switches pools if they have a connection to an old primary.
func (cl *cluster) abandonStale() {
	p := cl.current.Load()
	if s := p.latest.Load(); s != nil && cl.timeline.isStale(*s) {
		cl.switchPools(p, *s)
	}
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

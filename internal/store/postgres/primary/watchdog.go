package primary

import (
	"sync/atomic"
	"time"
)

// hangProbeInterval is the time after which a statement that has no response
// makes the watchdog probe the server. With two connectTimeouts, to find the
// server dead and to find it dead again on the way to its successor, it stays
// below the 3 s in which a hung primary is abandoned.
const hangProbeInterval = time.Second

// abandonAgain is the time in which a server that was abandoned, and reached
// again, is not abandoned a second time: it did not help. Behind PgBouncer
// without a free connection each switch adds as many sessions to the server as
// its pool has. It is longer than a request, so that some are refused in time.
const abandonAgain = retryFor

// watch probes a server every hangProbeInterval until stop is called: the server
// in use, or before there is a connection the latest of p. They differ where the
// primary hangs and p has connections to its successor already.
func (cl *cluster) watch(p *pools, inUse *atomic.Pointer[server]) (stop func()) {
	var t *time.Timer
	var stopped atomic.Bool
	t = time.AfterFunc(time.Hour, func() {
		if stopped.Load() {
			return
		}
		s := inUse.Load()
		if s == nil {
			s = p.latest.Load()
		}
		if s != nil {
			cl.probe(p, *s)
		}
		t.Reset(hangProbeInterval)
	})
	t.Reset(hangProbeInterval)
	return func() { stopped.Store(true); t.Stop() }
}

// probe switches pools unless the server responds on a new connection and no
// other host is on a higher timeline. A busy server responds: statements that
// wait for a lock or a standby go on waiting.
func (cl *cluster) probe(p *pools, suspect server) {
	if p.ctx.Err() != nil || !p.probing.CompareAndSwap(false, true) {
		return
	}
	defer p.probing.Store(false)
	responds := false
	for _, h := range cl.survey(p.ctx, 2*connectTimeout) {
		responds = responds || isCrowded(h.err) || h.err == nil && h.addr == suspect.addr
	}
	if !responds || cl.timeline.isStale(suspect) {
		cl.switchPools(p, suspect)
	}
}

// switchPools makes all new statements, and those that wait for a response on p,
// begin again with new pools. Those of p are closed in the background.
func (cl *cluster) switchPools(p *pools, from server) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	last := &cl.lastAbandoned
	again := last.addr == from.addr && time.Since(last.at) < abandonAgain && !cl.timeline.isStale(from)
	if cl.closed || cl.current.Load() != p || again {
		return
	}
	fresh, err := cl.newPools()
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

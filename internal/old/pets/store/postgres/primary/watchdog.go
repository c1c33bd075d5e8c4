package primary

import (
	"sync/atomic"
	"time"
)

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
func (cl *cluster) probe(p *pools, current server) {
	if p.ctx.Err() != nil || !p.probing.CompareAndSwap(false, true) {
		return
	}
	defer p.probing.Store(false)
	responds := false
	for _, h := range cl.survey(p.ctx, 2*connectTimeout) {
		responds = responds || isCrowded(h.err) || h.err == nil && h.addr == current.addr
	}
	if !responds || cl.timeline.isStale(current) {
		cl.switchPools(p, current)
	}
}

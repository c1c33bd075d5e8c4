package primary

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"
)

// monitorInterval is the time between two checks of a monitor. Each costs every
// host one short connection.
const monitorInterval = 5 * time.Second

// monitor compares the hosts of a cluster again and again. It finds an old
// primary while no statement is slow enough for the watchdog.
type monitor struct {
	cluster *cluster
	latest  atomic.Pointer[report]
}

// report is the result of one check.
type report struct {
	oldPrimaries []string // addresses of servers on a lower timeline that accept writes
	standbys     int      // synchronous standbys of the primary; -1 where unknown
}

// run checks until ctx ends.
func (m *monitor) run(ctx context.Context, log *slog.Logger, warnWithoutStandby bool) {
	next := time.NewTicker(monitorInterval)
	defer next.Stop()
	for {
		m.check(ctx, log, warnWithoutStandby)
		select {
		case <-next.C:
		case <-ctx.Done():
			return
		}
	}
}

func (m *monitor) check(ctx context.Context, log *slog.Logger, warnWithoutStandby bool) {
	before := m.latest.Load()
	if before == nil {
		before = &report{standbys: -1}
	}
	now := &report{standbys: before.standbys} // a check without a primary says nothing about its standbys
	for _, h := range m.cluster.survey(ctx, outageWait) {
		switch {
		case h.err != nil:
		case m.cluster.timeline.isStale(h.server):
			now.oldPrimaries = append(now.oldPrimaries, h.addr)
			if !slices.Contains(before.oldPrimaries, h.addr) {
				log.Error("an old primary still accepts writes, and all it accepts will be lost: stop it",
					"server", h.addr, "timeline", h.timeline, "successor", m.cluster.timeline.highest.Load())
			}
		default:
			now.standbys = h.standbys
		}
	}
	m.cluster.abandonStale()
	m.latest.Store(now)
	switch {
	case !warnWithoutStandby || now.standbys == before.standbys:
	case now.standbys == 0:
		log.Warn("the primary has no synchronous standby: writes wait until one streams from it")
	case before.standbys == 0:
		log.Info("the primary has a synchronous standby again")
	}
}

package primary

import (
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// monitorInterval is the time between two surveys of Monitor. Each costs every
// host one short connection.
const monitorInterval = 5 * time.Second

// State is what is known of the cluster, for metrics.
type State struct {
	Timeline     uint32   // the highest timeline seen; 0 where no server tells
	OldPrimaries []string // addresses of servers on a lower timeline that accept writes
	Standbys     int      // synchronous standbys of the primary; -1 where unknown
	Switches     uint64   // how often a server was abandoned since Open
	BreakerOpen  bool     // whether calls fail at once because of an outage
	InUse        int      // connections on which statements run
	Connections  int      // open connections, idle ones too
}

// State returns the state of the cluster. OldPrimaries and Standbys are those of the
// last survey of Monitor.
func (db *DB) State() State {
	s := State{Standbys: -1}
	if last := db.observed.Load(); last != nil {
		s = *last
	}
	s.Timeline = db.cluster.timeline.highest.Load()
	s.Switches = db.cluster.switches.Load()
	s.BreakerOpen = db.writes.breaker.open() || db.reads.breaker.open()
	p := db.cluster.current.Load()
	for _, pool := range []*pgxpool.Stat{p.writes.Stat(), p.reads.Stat()} {
		s.InUse += int(pool.AcquiredConns())
		s.Connections += int(pool.TotalConns())
	}
	return s
}

// Monitor compares all hosts at once and every 5 s until Close. It logs an old
// primary that still accepts writes, abandons it if it is in use, and with
// requireSync logs that there is no synchronous standby. Call it once.
func (db *DB) Monitor(log *slog.Logger, requireSync bool) {
	db.monitor.Go(func() {
		next := time.NewTicker(monitorInterval)
		defer next.Stop()
		for {
			db.look(log, requireSync)
			select {
			case <-next.C:
			case <-db.closing.Done():
				return
			}
		}
	})
}

func (db *DB) look(log *slog.Logger, requireSync bool) {
	before := db.observed.Load()
	if before == nil {
		before = &State{Standbys: 1} // no news is good news
	}
	now := &State{Standbys: -1}
	found := false
	for _, h := range db.cluster.survey(db.closing, outageWait) {
		switch {
		case h.err != nil:
		case db.cluster.timeline.isStale(h.server):
			now.OldPrimaries = append(now.OldPrimaries, h.addr)
			if !slices.Contains(before.OldPrimaries, h.addr) {
				log.Error("an old primary still accepts writes, and all it accepts will be lost: stop it",
					"server", h.addr, "timeline", h.timeline, "successor", db.cluster.timeline.highest.Load())
			}
		default:
			now.Standbys, found = h.standbys, true
		}
	}
	db.cluster.abandonStale()
	if !found { // a survey without a primary says nothing about its standbys
		now.Standbys = before.Standbys
	}
	db.observed.Store(now)
	switch {
	case !requireSync || (now.Standbys == 0) == (before.Standbys == 0):
	case now.Standbys == 0:
		log.Warn("the primary has no synchronous standby: writes wait until one streams from it")
	default:
		log.Info("the primary has a synchronous standby again")
	}
}

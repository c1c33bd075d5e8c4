package postgres

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// carriers are the goroutines of a lane that carry its turns, each by one
// connection. The fewer there are, the more calls go together: with 16 of them
// instead of 2, a list costs this process twice the processor's time and a create
// three times. But two are not enough where a commit waits for a disk or a
// standby, or a statement for a lock: then more join them, as many as the pool
// has connections.
type carriers struct {
	more   int32 // how many may join
	joined atomic.Int32
	usual  atomic.Int64 // how long carrying takes, in nanoseconds: a moving average
	last   atomic.Int64 // when a carrier took turns last, in nanoseconds since the epoch
}

// slow is how long carrying may take before more carriers join. It is above what
// a server near by takes to answer, even on a processor that others use too, and
// below what a commit takes that waits.
const slow = 1500 * time.Microsecond

// newLane returns a lane with its first carriers at work: as many as this
// process can keep busy, and two so that one may wait.
func (s *Store) newLane(writes bool, pick func(*pools) *pgxpool.Pool) *lane {
	l := &lane{store: s, writes: writes, pick: pick, queue: make(chan *turn)}
	first := min(s.config.MaxConns, int32(max(2, runtime.GOMAXPROCS(0))))
	l.carriers.more = s.config.MaxConns - first
	for range first {
		s.carriers.Add(1)
		go l.serve()
	}
	return l
}

// serve carries turns until the store ends.
func (l *lane) serve() {
	defer l.store.carriers.Done()
	for {
		select {
		case t := <-l.queue:
			l.carry(l.gather(t))
		case <-l.store.ended:
			return
		}
	}
}

// join carries t, and others as long as there are any, if one more carrier is
// called for. It reports whether it does.
func (l *lane) join(t *turn) bool {
	c := &l.carriers
	if c.usual.Load() < int64(slow) && time.Now().UnixNano()-c.last.Load() < int64(slow) {
		return false
	}
	if c.joined.Add(1) > c.more {
		c.joined.Add(-1)
		return false
	}
	if l.writes {
		l.store.writing.Add(1) // the caller's own write is under way, so Close waits for this one too
	}
	go func() {
		defer c.joined.Add(-1)
		if l.writes {
			defer l.store.writing.Done()
		}
		for {
			l.carry(l.gather(t))
			select {
			case t = <-l.queue:
			default:
				return
			}
		}
	}()
	return true
}

// gather returns the turn and all that wait beside it.
func (l *lane) gather(t *turn) []*turn {
	turns := []*turn{t}
	l.carriers.last.Store(time.Now().UnixNano())
	runtime.Gosched() // those who are about to call may do so
	for len(turns) < mostTurns {
		select {
		case t := <-l.queue:
			turns = append(turns, t)
		default:
			return turns
		}
	}
	return turns
}

// took notes how long carrying took.
func (c *carriers) took(d time.Duration) {
	usual := c.usual.Load()
	c.usual.Store(usual + (int64(d)-usual)/8) // two at once may lose one of their notes
}

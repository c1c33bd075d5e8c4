package sqlite

import (
	"sync/atomic"
	"time"
)

// Clients that wait for one response before they send the next request come
// back soon after a commit. Without a pause, the committer goes on with those
// who came during that commit, and two halves of the clients take turns: twice
// the commits. For fewer callers than fewest, a pause costs more than it saves.
const (
	fewest = 5
	// pauseStep is the time in which a server that still reads requests brings
	// at least one more.
	pauseStep = 250 * time.Microsecond
	// longestPause bounds the time from the last commit to the next.
	longestPause = 10 * time.Millisecond
)

// returning holds the next commit back while the callers of the last one come
// back. A client alone never waits.
type returning struct {
	callers int       // of the last batch, and of those who waited at its end
	since   time.Time // the end of the last batch
	wanted  atomic.Int64
	enough  chan struct{} // has room for one
}

// expect notes the callers at the end of a batch.
func (r *returning) expect(callers int) {
	r.callers, r.since = min(callers, maxBatch), time.Now()
}

// await returns once all expected callers have sent a job, the first of which
// is taken already, or as soon as a step of the pause has brought none.
func (r *returning) await(jobs <-chan *job) {
	wanted, waiting := r.callers-1, len(jobs)
	if r.callers < fewest || waiting >= wanted || time.Since(r.since) >= longestPause {
		return
	}
	select {
	case <-r.enough: // sent after the pause before had ended
	default:
	}
	r.wanted.Store(int64(wanted))
	defer r.wanted.Store(0)
	if waiting = len(jobs); waiting >= wanted {
		return
	}
	step := time.NewTicker(pauseStep)
	defer step.Stop()
	for {
		select {
		case <-r.enough:
			return
		case <-step.C:
		}
		before := waiting
		if waiting = len(jobs); waiting == before || waiting >= wanted || time.Since(r.since) >= longestPause {
			return
		}
	}
}

// sent ends the pause where enough jobs wait. Any goroutine may call it.
func (r *returning) sent(waiting int) {
	if wanted := r.wanted.Load(); wanted > 0 && int64(waiting) >= wanted {
		select {
		case r.enough <- struct{}{}:
		default:
		}
	}
}

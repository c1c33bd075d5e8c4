package sqlite

import (
	"runtime"
	"slices"
	"time"
)

// Clients that wait for one response before they send the next request come
// back soon after a commit. Without a pause, the next batch has only the clients
// that came during that commit, and two halves of the clients take turns: twice
// the commits. For fewer callers than fewest, a pause costs more than it saves.
const (
	fewest = 5
	// pauseStep is the time in which a server that still reads requests brings
	// at least one more.
	pauseStep = 250 * time.Microsecond
	// longestPause bounds the time from the last commit to the next.
	longestPause = 10 * time.Millisecond
)

// gatherer makes batches of the jobs in a queue.
type gatherer struct {
	queue   *queue
	next    *job      // exclusive, and so the first job of the next batch
	callers int       // of the last batches, and the callers that waited at their ends
	since   time.Time // the end of the last batch
}

// first waits for a job; nil once the queue is closed and has none.
func (g *gatherer) first() *job {
	if j := g.next; j != nil {
		g.next = nil
		return j
	}
	return g.queue.next()
}

// gather returns a batch that begins with first and has every job that waits. Where
// the callers of the last commit are about to come back, it waits for their jobs. A
// client alone never waits.
func (g *gatherer) gather(first *job) []*job {
	batch := []*job{first}
	if first.exclusive {
		return batch
	}
	batch = g.yieldToWriters(batch)
	if g.callers < fewest || len(batch) >= g.callers || time.Since(g.since) >= longestPause {
		return batch
	}
	step := time.NewTicker(pauseStep)
	defer step.Stop()
	for before := 0; before < len(batch) && len(batch) < g.callers && time.Since(g.since) < longestPause; {
		before = len(batch)
		batch = g.receive(batch, step.C)
	}
	return batch
}

// yieldToWriters adds the jobs that wait. It lets other goroutines run as long as that
// brings more jobs, since every job in the batch saves a commit. Where no caller is
// about to write, it costs nothing that could be measured.
func (g *gatherer) yieldToWriters(batch []*job) []*job {
	for before := 0; before < len(batch) && len(batch) < maxBatch; {
		before = len(batch)
		runtime.Gosched()
		batch = g.add(batch)
	}
	return batch
}

// add adds the jobs that wait now.
func (g *gatherer) add(batch []*job) []*job {
	for len(batch) < maxBatch && g.next == nil {
		select {
		case j := <-g.queue.jobs:
			batch = g.admit(batch, j)
		default:
			return batch
		}
	}
	return batch
}

// receive adds the jobs that come until the tick, or until all expected callers are
// back.
func (g *gatherer) receive(batch []*job, tick <-chan time.Time) []*job {
	for len(batch) < min(g.callers, maxBatch) && g.next == nil {
		select {
		case j := <-g.queue.jobs:
			batch = g.admit(batch, j)
		case <-tick:
			return batch
		}
	}
	return batch
}

// admit adds j to the batch, unless its caller has left or it is exclusive.
func (g *gatherer) admit(batch []*job, j *job) []*job {
	switch {
	case j.withdrawn():
		return batch
	case j.exclusive:
		g.next = j
		return batch
	}
	return append(batch, j)
}

// take makes the jobs of the batch the committer's, and leaves out those whose callers
// have left.
func take(batch []*job) []*job {
	return slices.DeleteFunc(batch, func(j *job) bool { return !j.take() })
}

// ended notes the callers at the end of a batch, which are its own and the waiting
// ones: so many are expected back for the next batch. The expected number falls by one
// at a time. A caller who came too late for one batch may be on the way at its end. If
// the next batch did not wait for that caller, all later ones would be as small. Where
// fewer than half of the callers are there, the others have left.
func (g *gatherer) ended(callers int) {
	callers += len(g.queue.jobs)
	if callers >= g.callers/2 {
		callers = max(callers, g.callers-1)
	}
	g.callers, g.since = min(callers, maxBatch), time.Now()
}

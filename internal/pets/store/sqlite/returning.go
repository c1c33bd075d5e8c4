package sqlite

import "time"

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
	callers int       // of the last batches, and of those who waited at their ends
	since   time.Time // the end of the last batch
}

// expect notes the callers at the end of a batch. Their number falls by one at a time:
// callers who came too late for one batch are not at its end either, and without
// them every batch from then on would be as small. Where fewer than half are there,
// the others have left.
func (r *returning) expect(callers int) {
	if callers >= r.callers/2 {
		callers = max(callers, r.callers-1)
	}
	r.callers, r.since = min(callers, maxBatch), time.Now()
}

// await returns once all expected callers have added a job, or as soon as a
// step of the pause has brought none.
func (r *returning) await(q *queue) {
	waiting := q.count()
	if r.callers < fewest || waiting >= r.callers || time.Since(r.since) >= longestPause {
		return
	}
	step := time.NewTicker(pauseStep)
	defer step.Stop()
	for {
		before := waiting
		waiting = q.await(r.callers, step.C)
		if waiting == before || waiting >= r.callers || time.Since(r.since) >= longestPause {
			return
		}
	}
}

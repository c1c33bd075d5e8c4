package sqlite

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/old/pets"
)

// maxBatch bounds how many writes share a commit, and so how long the first
// of them waits for the last. Past about 128 the fsync is no longer the largest cost.
const maxBatch = 128

// job is one caller's write: of a row, or of what apply does.
type job struct {
	row
	apply     func(*writer) error // nil where the row is all there is to insert
	exclusive bool                // shares its transaction with no other job
	claimed   atomic.Bool         // by the committer, which runs it, or by its caller, who has left
	done      chan struct{}       // closed once row.err is the caller's
}

// claim reports whether the job was still nobody's.
func (j *job) claim() bool { return j.claimed.CompareAndSwap(false, true) }

// queue holds the jobs that wait, in their order, and makes batches of them.
type queue struct {
	jobs    chan *job                     // two batches; further callers wait to send
	closing chan struct{}                 // closed once the queue refuses further jobs
	ended   chan struct{}                 // closed once the committer takes no more
	late    atomic.Pointer[chan struct{}] // the channel that it holds is closed within patience

	// For the committer alone.
	held     *job      // exclusive, and so the first job of the next batch
	expected int       // callers that are about to come back
	since    time.Time // the end of the last batch
}

func newQueue() *queue {
	q := &queue{jobs: make(chan *job, 2*maxBatch), closing: make(chan struct{}), ended: make(chan struct{})}
	q.restartPatience()
	return q
}

// patience is how long a caller waits for its commit before it watches its context, too.
// Nearly every commit comes sooner. To watch a context of the edge starts a timer, which
// takes 2 of a create's 48 µs; the timer behind late is one for all callers between two
// commits.
const patience = 10 * time.Millisecond

func (q *queue) restartPatience() {
	late := make(chan struct{})
	time.AfterFunc(patience, func() { close(late) })
	q.late.Store(&late)
}

// write has the committer do j and returns once it is committed. If ctx ends while j
// waits, j is withdrawn; once the committer has taken it, its outcome is told.
func (q *queue) write(ctx context.Context, j *job) error {
	if ctx.Err() != nil {
		return pets.ErrGaveUp
	}
	if q.isClosing() {
		return pets.ErrClosed
	}
	j.done = make(chan struct{})
	select {
	case q.jobs <- j:
	default:
		if err := q.awaitRoom(ctx, j); err != nil {
			return err
		}
	}
	select {
	case <-j.done:
		return j.err
	case <-*q.late.Load():
	}
	refusal := pets.ErrGaveUp
	select {
	case <-j.done:
		return j.err
	case <-q.ended: // j was sent while the committer looked for the last time
		refusal = pets.ErrClosed
	case <-ctx.Done():
	}
	if j.claim() {
		return refusal
	}
	<-j.done
	return j.err
}

// awaitRoom sends j once there is room for it.
func (q *queue) awaitRoom(ctx context.Context, j *job) error {
	select {
	case q.jobs <- j:
		return nil
	case <-q.closing:
		return pets.ErrClosed
	case <-ctx.Done():
		return pets.ErrGaveUp
	}
}

// close has the queue refuse further jobs. The committer runs the jobs that it holds.
func (q *queue) close() { close(q.closing) }

func (q *queue) isClosing() bool {
	select {
	case <-q.closing:
		return true
	default:
		return false
	}
}

// first waits for a job. Once the queue is closed, it returns those that are left, and
// then nil.
func (q *queue) first() *job {
	if j := q.held; j != nil {
		q.held = nil
		return j
	}
	select {
	case j := <-q.jobs:
		return j
	case <-q.closing:
	}
	select {
	case j := <-q.jobs:
		return j
	default:
		return nil
	}
}

// Clients that wait for one response before they send the next request come
// back soon after a commit. Without a pause, the next batch has only the clients
// that came during that commit, and two halves of the clients take turns: twice
// the commits. A client alone never waits.
const (
	// pauseStep is the time in which a server that still reads requests brings
	// at least one more.
	pauseStep = 250 * time.Microsecond
	// longestPause bounds the time from the last commit to the next.
	longestPause = 10 * time.Millisecond
)

// gather returns a batch that begins with first and has every job that waits. Where
// the callers of the last commit are about to come back, it waits for their jobs.
func (q *queue) gather(first *job) []*job {
	batch := []*job{first}
	if first.exclusive {
		return batch
	}
	batch = q.add(batch)
	if len(batch) >= q.expected || time.Since(q.since) >= longestPause {
		return batch
	}
	step := time.NewTicker(pauseStep)
	defer step.Stop()
	for before := 0; before < len(batch) && len(batch) < q.expected && time.Since(q.since) < longestPause; {
		before = len(batch)
		batch = q.await(batch, step.C)
	}
	return batch
}

// add adds the jobs that wait. Where none is left it lets other goroutines run, as long
// as that brings more jobs: without that the committer would be woken for each of them,
// and a create take 5 µs more of its 55.
func (q *queue) add(batch []*job) []*job {
	for yielded := false; len(batch) < maxBatch && q.held == nil; {
		select {
		case j := <-q.jobs:
			batch, yielded = q.admit(batch, j), false
			continue
		default:
		}
		if yielded {
			break
		}
		runtime.Gosched()
		yielded = true
	}
	return batch
}

// await adds the jobs that come until the tick, or until all expected callers are back.
func (q *queue) await(batch []*job, tick <-chan time.Time) []*job {
	for len(batch) < q.expected && q.held == nil {
		select {
		case j := <-q.jobs:
			batch = q.admit(batch, j)
		case <-tick:
			return batch
		}
	}
	return batch
}

// admit adds j to the batch, unless its caller has left or it is exclusive.
func (q *queue) admit(batch []*job, j *job) []*job {
	switch {
	case j.claimed.Load():
		return batch
	case j.exclusive:
		q.held = j
		return batch
	}
	return append(batch, j)
}

// take makes the jobs of the batch the committer's, and leaves out those whose callers
// have left.
func take(batch []*job) []*job {
	return slices.DeleteFunc(batch, func(j *job) bool { return !j.claim() })
}

// batchEnded notes the callers at the end of a batch, which are its own and the waiting
// ones: so many are expected back for the next batch. The expected number falls by one
// at a time. A caller who came too late for one batch may be on the way at its end. If
// the next batch did not wait for that caller, all later ones would be as small. Where
// fewer than half of the callers are there, the others have left.
func (q *queue) batchEnded(callers int) {
	callers += len(q.jobs)
	if callers >= q.expected/2 {
		callers = max(callers, q.expected-1)
	}
	q.expected, q.since = min(callers, maxBatch), time.Now()
	q.restartPatience()
}

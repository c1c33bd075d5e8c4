package sqlite

import (
	"context"
	"sync/atomic"

	"example.com/petstore/internal/pets"
)

// maxBatch bounds how many writes share a commit, and so how long the first
// of them waits for the last. Past about 128 the fsync is no longer the largest cost.
const maxBatch = 128

// job is one caller's write: of a row, or of what apply does.
type job struct {
	row
	apply     func(*writer) error // nil where the row is all there is to insert
	exclusive bool                // shares its transaction with no other job
	state     atomic.Int32        // jobWaiting, jobTaken or jobWithdrawn
	done      chan struct{}       // closed once row.err is the caller's
}

// A job waits until the committer takes it or its caller withdraws it.
const (
	jobWaiting int32 = iota
	jobTaken
	jobWithdrawn
)

// take makes the job the committer's. It reports whether the caller still waits.
func (j *job) take() bool { return j.state.CompareAndSwap(jobWaiting, jobTaken) }

func (j *job) withdraw() bool { return j.state.CompareAndSwap(jobWaiting, jobWithdrawn) }

func (j *job) withdrawn() bool { return j.state.Load() == jobWithdrawn }

// queue holds the jobs that wait for the committer, in their order.
type queue struct {
	jobs    chan *job     // two batches; further callers wait to send
	closing chan struct{} // closed once the queue refuses further jobs
	ended   chan struct{} // closed once the committer takes no more
}

func newQueue() *queue {
	return &queue{jobs: make(chan *job, 2*maxBatch), closing: make(chan struct{}), ended: make(chan struct{})}
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
	case <-q.closing:
		return pets.ErrClosed
	case <-ctx.Done():
		return pets.ErrGaveUp
	}
	refusal := pets.ErrGaveUp
	select {
	case <-j.done:
		return j.err
	case <-q.ended: // j was sent while the committer looked for the last time
		refusal = pets.ErrClosed
	case <-ctx.Done():
	}
	if j.withdraw() {
		return refusal
	}
	<-j.done
	return j.err
}

// next waits for a job. Once the queue is closed, it returns those that are left, and
// then nil.
func (q *queue) next() *job {
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

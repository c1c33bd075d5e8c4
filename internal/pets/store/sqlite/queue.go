package sqlite

import (
	"context"
	"slices"
	"sync"
	"time"

	"example.com/petstore/internal/pets"
)

// maxBatch bounds how many writes share a commit, and so how long the first
// of them waits for the last. Past about 128 the fsync is no longer the largest cost.
const maxBatch = 128

// patience is how long a caller waits for the committer to take its batch
// before it watches its context. To watch it starts a timer, which would be a
// tenth of the cost of a create; nearly every batch is taken sooner.
const patience = 10 * time.Millisecond

// job is one caller's write.
type job struct {
	apply func(*writer) error // nil where a pet is all there is to insert
	pet   pets.NewPet
	id    int64 // of pet, once it is inserted
	err   error // for the caller; of apply itself until the batch is over
}

// batch is the jobs that share a transaction.
type batch struct {
	jobs      []*job
	exclusive bool          // of one job, however long others wait
	taken     bool          // by the committer; its outcome is near
	late      chan struct{} // closed where it was not taken within patience
	lateTimer *time.Timer
	done      chan struct{} // closed once every job has its err
}

func newBatch(exclusive bool) *batch {
	b := &batch{exclusive: exclusive, late: make(chan struct{}), done: make(chan struct{})}
	b.lateTimer = time.AfterFunc(patience, func() { close(b.late) })
	return b
}

// queue holds the batches that wait for the committer, in the order of their
// first jobs. The last of them takes further jobs.
type queue struct {
	mu      sync.Mutex
	batches []*batch
	closed  bool
	wanted  int           // so many jobs wake the committer, 0 if it does not wait
	wake    chan struct{} // has room for one
}

// write has j written and returns once it is committed. If ctx ends while the
// batch still waits, the job is withdrawn; once the batch is taken, its outcome
// is told.
func (q *queue) write(ctx context.Context, j *job, exclusive bool) error {
	if ctx.Err() != nil {
		return pets.ErrGaveUp
	}
	b, err := q.add(j, exclusive)
	if err != nil {
		return err
	}
	select {
	case <-b.done:
		return j.err
	case <-b.late:
	}
	select {
	case <-b.done:
		return j.err
	case <-ctx.Done():
		if q.withdraw(b, j) {
			return pets.ErrGaveUp
		}
		<-b.done
		return j.err
	}
}

func (q *queue) add(j *job, exclusive bool) (*batch, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, pets.ErrClosed
	}
	var b *batch
	if n := len(q.batches); n > 0 {
		b = q.batches[n-1]
	}
	if b == nil || exclusive || b.exclusive || len(b.jobs) == maxBatch {
		b = newBatch(exclusive)
		q.batches = append(q.batches, b)
	}
	b.jobs = append(b.jobs, j)
	if q.wanted > 0 && q.waiting() >= q.wanted {
		q.wakeCommitter()
	}
	return b, nil
}

// withdraw removes j unless its batch was taken.
func (q *queue) withdraw(b *batch, j *job) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !b.taken {
		b.jobs = slices.DeleteFunc(b.jobs, func(other *job) bool { return other == j })
	}
	return !b.taken
}

// The caller of waiting and wakeCommitter holds mu.
func (q *queue) waiting() (n int) {
	for _, b := range q.batches {
		n += len(b.jobs)
	}
	return n
}

func (q *queue) wakeCommitter() {
	q.wanted = 0
	q.wake <- struct{}{}
}

// count returns how many jobs wait.
func (q *queue) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting()
}

// await waits until n jobs wait, the queue is closed, or timeout has a value,
// and returns how many jobs wait then.
func (q *queue) await(n int, timeout <-chan time.Time) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting() >= n || q.closed {
		return q.waiting()
	}
	q.wanted = n
	q.mu.Unlock()
	woken := false
	select {
	case <-q.wake:
		woken = true
	case <-timeout:
	}
	q.mu.Lock()
	if !woken && q.wanted == 0 {
		<-q.wake // came at the same time
	}
	q.wanted = 0
	return q.waiting()
}

// next waits for a batch with a job and returns it, still in the queue; nil once
// the queue is closed and has none.
func (q *queue) next() *batch {
	for {
		q.await(1, nil)
		if b, last := q.first(); b != nil || last {
			return b
		}
	}
}

// first returns the first batch with a job, nil where there is none, and whether
// the queue is closed.
func (q *queue) first() (b *batch, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.batches) > 0 {
		if b := q.batches[0]; len(b.jobs) > 0 {
			return b, q.closed
		}
		q.remove() // its callers gave up
	}
	return nil, q.closed
}

// pointless reports whether nobody waits for b, the first batch, any more, or
// nobody should, since the store is being closed.
func (q *queue) pointless(b *batch) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(b.jobs) == 0 || q.closed
}

// take removes the first batch; none of its jobs can be withdrawn any more.
func (q *queue) take() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remove()
}

// remove is take for a caller who holds mu.
func (q *queue) remove() {
	b := q.batches[0]
	b.taken = true
	b.lateTimer.Stop()
	q.batches = slices.Delete(q.batches, 0, 1)
}

// close has the queue refuse further jobs.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if q.wanted > 0 {
		q.wakeCommitter()
	}
}

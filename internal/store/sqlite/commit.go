package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/petstore"
)

// maxBatch bounds how many writes share a commit, and so how long the first
// of them waits for the last. Past about 128 the fsync is no longer the largest cost.
const (
	maxBatch    = 1 << maxBatchLog
	maxBatchLog = 7
)

// writer is the one connection that writes, with its statements.
type writer struct {
	*connection
	begin, commit, rollback         *sql.Stmt
	insertPets                      [maxBatchLog + 1]*sql.Stmt // 1, 2, 4 … maxBatch rows
	insertPetOnce, selectPetMade    *sql.Stmt
	args                            []any // of insertPets, used again and again
	insertKey, revokeKey, recordUse *sql.Stmt
}

func newWriter(ctx context.Context, db *sql.DB) (*writer, error) {
	db.SetMaxOpenConns(1)
	c, err := connect(ctx, db, writerPragmas)
	if err != nil {
		return nil, err
	}
	w := &writer{
		connection:    c,
		begin:         c.prepare(ctx, "BEGIN IMMEDIATE"),
		commit:        c.prepare(ctx, "COMMIT"),
		rollback:      c.prepare(ctx, "ROLLBACK"),
		insertPetOnce: c.prepare(ctx, insertPetOnce),
		selectPetMade: c.prepare(ctx, selectPetMade),
		insertKey:     c.prepare(ctx, insertKey),
		revokeKey:     c.prepare(ctx, revokeKey),
		recordUse:     c.prepare(ctx, recordUse),
	}
	for i := range w.insertPets {
		w.insertPets[i] = c.prepare(ctx, insertPets(newIDs, 1<<i))
	}
	if c.err != nil {
		return nil, errors.Join(c.err, c.close())
	}
	return w, nil
}

// committer is the goroutine that writes. It takes the jobs that wait, up to
// maxBatch, runs it in one transaction and replies after the commit: one fsync
// for all of them. It takes no context: that a caller gives up must not roll
// back its neighbours.
type committer struct {
	w         *writer
	health    *health
	jobs      chan *job
	exclusive chan *job // the exclusive jobs
	done      chan struct{}
	pets      []*job // of a batch, used again and again
	returning returning

	mu     sync.RWMutex // held for reading while sending to jobs or exclusive
	closed bool

	closing atomic.Bool // no longer waits for other processes
}

// job is one caller's write.
type job struct {
	apply     func(*writer) error // nil where a pet is all there is to insert
	pet       petstore.NewPet
	id        int64       // of pet, once it is inserted
	exclusive bool        // shares its transaction with no other
	taken     atomic.Bool // by the committer, or by the caller who withdraws it
	err       error       // of apply itself
	done      chan error
}

func startCommitter(w *writer, h *health) *committer {
	c := &committer{
		w:         w,
		health:    h,
		jobs:      make(chan *job, maxBatch),
		exclusive: make(chan *job),
		pets:      make([]*job, 0, maxBatch),
		done:      make(chan struct{}),
		returning: returning{enough: make(chan struct{}, 1)},
	}
	go c.run()
	return c
}

// write has the committer run apply and returns once it is committed. If ctx
// ends while the job still waits, the job is withdrawn; once it is taken, its
// outcome is near, and told.
func (c *committer) write(ctx context.Context, apply func(*writer) error) error {
	return c.do(ctx, &job{apply: apply, done: make(chan error, 1)})
}

// create is write for a pet, whose neighbours it shares a statement with.
func (c *committer) create(ctx context.Context, p petstore.NewPet) (id int64, err error) {
	j := &job{pet: p, done: make(chan error, 1)}
	err = c.do(ctx, j)
	return j.id, err
}

func (c *committer) do(ctx context.Context, j *job) error {
	if err := c.send(ctx, c.jobs, j); err != nil {
		return err
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
		if j.taken.CompareAndSwap(false, true) {
			return petstore.ErrGaveUp
		}
		return <-j.done
	}
}

// writeExclusive is write for a job that may take long and that, where it fails,
// leaves nothing behind: any error of it undoes all of it, and nothing
// else. It ends soon after ctx only if apply does.
func (c *committer) writeExclusive(ctx context.Context, apply func(*writer) error) error {
	j := &job{apply: apply, exclusive: true, done: make(chan error, 1)}
	if err := c.send(ctx, c.exclusive, j); err != nil {
		return err
	}
	return <-j.done
}

func (c *committer) send(ctx context.Context, to chan<- *job, j *job) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.closed {
		return petstore.ErrClosed
	}
	select {
	case to <- j:
		c.returning.sent(len(c.jobs))
		return nil
	case <-ctx.Done():
		return petstore.ErrGaveUp
	}
}

// close lets the committer finish the jobs that were sent and waits for its end.
func (c *committer) close() {
	c.closing.Store(true)
	c.mu.Lock()
	c.closed = true
	close(c.jobs)
	c.mu.Unlock()
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	batch := make([]*job, 0, maxBatch)
	for {
		var first *job
		select {
		case j, open := <-c.jobs:
			if !open {
				return
			}
			first = j
			c.yieldToWriters()
			c.returning.await(c.jobs)
		case first = <-c.exclusive:
		}
		err := c.begin(first)
		if err != nil && first.taken.Load() {
			continue // its caller waits no more; the next job is somebody else's
		}
		batch = c.take(first, batch[:0])
		if err == nil {
			err = c.commit(batch)
		}
		c.returning.expect(len(batch) + len(c.jobs))
		err = c.judge(err)
		for _, j := range batch {
			if err == nil {
				j.done <- translate(j.err)
			} else {
				j.done <- translate(err)
			}
		}
	}
}

// maxBusy bounds how long a caller without a deadline waits for another process.
const maxBusy = time.Minute

// begin begins a transaction. While another process writes, as an import does
// for seconds, it tries again, as long as the caller of the first job waits.
func (c *committer) begin(first *job) error {
	if failure := c.health.failure.Load(); failure != nil {
		return failure
	}
	for end := time.Now().Add(maxBusy); ; {
		_, err := c.w.begin.Exec()
		if !isBusy(err) || first.taken.Load() || c.closing.Load() || time.Now().After(end) {
			return err
		}
	}
}

// judge notes the error of a batch. After a fatal one nothing is written any
// more.
func (c *committer) judge(err error) error {
	c.health.met(err)
	if isFatal(err) {
		return c.health.fail(err)
	}
	return err
}

// yieldToWriters lets callers who are about to send a job send it, as long as that brings
// more: every job that comes along saves a commit. Where nobody is, it costs
// nothing that could be measured.
func (c *committer) yieldToWriters() {
	for n := -1; n < len(c.jobs) && n < maxBatch; {
		n = len(c.jobs)
		runtime.Gosched()
	}
}

// take adds to batch the first job and, unless it is exclusive, those that wait
// too, without those withdrawn.
func (c *committer) take(first *job, batch []*job) []*job {
	if first.taken.CompareAndSwap(false, true) {
		batch = append(batch, first)
	}
	for !first.exclusive && len(batch) < maxBatch {
		select {
		case j, open := <-c.jobs:
			if !open {
				return batch
			}
			if j.taken.CompareAndSwap(false, true) {
				batch = append(batch, j)
			}
		default:
			return batch
		}
	}
	return batch
}

// commit runs the batch in the transaction that was begun. A job that breaks a
// constraint fails alone, its statement undone; any other error undoes them all,
// and so does any error of an exclusive job.
func (c *committer) commit(batch []*job) error {
	if len(batch) == 0 {
		return c.undo(nil)
	}
	pets := c.pets[:0]
	for _, j := range batch {
		if j.apply == nil {
			pets = append(pets, j)
			continue
		}
		if j.err = j.apply(c.w); j.err != nil && (j.exclusive || !isConstraint(j.err)) {
			return c.undo(j.err)
		}
	}
	if err := c.w.insert(pets); err != nil {
		return c.undo(err)
	}
	if _, err := c.w.commit.Exec(); err != nil {
		return c.undo(err)
	}
	c.health.commits.Add(1)
	c.health.writes.Add(uint64(len(batch)))
	c.health.diskFull.Store(false)
	return c.health.files.stillThere()
}

// insert inserts the pets of the jobs, as many with a statement as there are
// rows in one. A statement that breaks a constraint is undone, and its pets are
// inserted one by one, so that only those fail that have to.
func (w *writer) insert(jobs []*job) error {
	for len(jobs) > 0 {
		size := bits.Len(uint(len(jobs))) - 1
		some := jobs[:1<<size]
		err := w.insertTogether(w.insertPets[size], some)
		if isConstraint(err) {
			err = nil
			for _, j := range some {
				if j.err = w.insertTogether(w.insertPets[0], []*job{j}); j.err != nil && !isConstraint(j.err) {
					return j.err
				}
			}
		}
		if err != nil {
			return err
		}
		jobs = jobs[len(some):]
	}
	return nil
}

// insertTogether runs a statement of as many rows. SQLite gives them successive
// identifiers, in their order, as nobody else writes meanwhile.
func (w *writer) insertTogether(insert *sql.Stmt, jobs []*job) error {
	w.args = w.args[:0]
	for _, j := range jobs {
		w.args = append(w.args, j.pet.Name, j.pet.CategoryID, string(j.pet.Status))
	}
	res, err := insert.Exec(w.args...)
	if err != nil {
		return err
	}
	last, err := res.LastInsertId()
	for i, j := range jobs {
		j.id = last - int64(len(jobs)-1-i)
	}
	return err
}

// undo rolls back and returns the error that made it necessary, if any. SQLite may
// have rolled back by itself; that there is no transaction left is no error.
func (c *committer) undo(cause error) error {
	_, err := c.w.rollback.Exec()
	switch {
	case err == nil, isNoTransaction(err):
		return cause
	case cause == nil:
		return err
	default:
		return fmt.Errorf("%w (and the rollback failed: %w)", cause, err)
	}
}

package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// committer is the goroutine that writes. It takes the batches that wait, runs
// each in one transaction and replies after the commit: one fsync for all its
// jobs. It takes no context: that a caller gives up must not roll back its
// neighbours.
type committer struct {
	w         *writer
	health    *health
	queue     queue
	returning returning
	folder    folder
	done      chan struct{}
}

func startCommitter(w *writer, h *health) *committer {
	c := &committer{
		w:      w,
		health: h,
		folder: folder{w: w, health: h, warnAt: firstWarning},
		queue:  queue{wake: make(chan struct{}, 1)},
		done:   make(chan struct{}),
	}
	go c.run()
	return c
}

// write has the committer run apply and returns once it is committed.
func (c *committer) write(ctx context.Context, apply func(*writer) error) error {
	return c.queue.write(ctx, &job{apply: apply}, false)
}

// create is write for a pet, whose neighbours it shares a statement with.
func (c *committer) create(ctx context.Context, p pets.NewPet) (id int64, err error) {
	j := &job{pet: p}
	err = c.queue.write(ctx, j, false)
	return j.id, err
}

// writeExclusive is write for a job that may take long and that, where it fails,
// leaves nothing behind: any error of it undoes all of it, and nothing
// else. Once it runs, it ends soon after ctx only if apply does.
func (c *committer) writeExclusive(ctx context.Context, apply func(*writer) error) error {
	return c.queue.write(ctx, &job{apply: apply}, true)
}

// close lets the committer finish the jobs that wait and waits for its end.
func (c *committer) close() {
	c.queue.close()
	<-c.done
}

func (c *committer) run() {
	defer close(c.done)
	for b := c.queue.next(); b != nil; b = c.queue.next() {
		if !b.exclusive {
			c.yieldToWriters()
			c.returning.await(&c.queue)
		}
		err := c.begin(b)
		c.queue.take()
		if err == nil {
			err = c.commit(b)
		}
		c.returning.expect(len(b.jobs) + c.queue.count())
		err = c.judge(err)
		for _, j := range b.jobs {
			if err != nil {
				j.err = err
			}
			j.err = translate(j.err)
		}
		close(b.done)
		if c.health.failure.Load() == nil {
			c.judgeFold(c.folder.afterCommit())
		}
	}
}

// judgeFold ends all writing where the log could not be folded.
func (c *committer) judgeFold(err error) {
	if err != nil {
		c.health.met(err)
		_ = c.health.fail(err) // the next batch gets it
	}
}

// foldLast folds the log once the committer has ended and there are no readers.
func (c *committer) foldLast() {
	if c.health.failure.Load() == nil {
		c.judgeFold(c.folder.fold())
	}
}

// maxBusy bounds how long a caller without a deadline waits for another process.
const maxBusy = time.Minute

// begin begins a transaction. While another process writes, as an import does
// for seconds, it tries again, as long as somebody waits for the batch.
func (c *committer) begin(b *batch) error {
	if failure := c.health.failure.Load(); failure != nil {
		return failure
	}
	if err := c.folder.beforeWrite(); err != nil {
		return err
	}
	for end := time.Now().Add(maxBusy); ; {
		_, err := c.w.begin.Exec()
		if !dbfile.IsBusy(err) || c.queue.pointless(b) || time.Now().After(end) {
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

// yieldToWriters lets callers who are about to add a job add it, as long as that
// brings more: every job that comes along saves a commit. Where nobody is, it
// costs nothing that could be measured.
func (c *committer) yieldToWriters() {
	for before, n := -1, c.queue.count(); before < n && n < maxBatch; {
		runtime.Gosched()
		before, n = n, c.queue.count()
	}
}

// commit runs the batch in the transaction that was begun. A job that breaks a
// constraint fails alone, its statement undone; any other error undoes them all,
// and so does any error of an exclusive job.
func (c *committer) commit(b *batch) error {
	if len(b.jobs) == 0 {
		return c.undo(nil)
	}
	animals := make([]*job, 0, len(b.jobs))
	for _, j := range b.jobs {
		if j.apply == nil {
			animals = append(animals, j)
			continue
		}
		if j.err = j.apply(c.w); j.err != nil && (b.exclusive || !isConstraint(j.err)) {
			return c.undo(j.err)
		}
	}
	if err := c.w.insert(animals); err != nil {
		return c.undo(err)
	}
	if _, err := c.w.commit.Exec(); err != nil {
		return c.undo(err)
	}
	c.health.commits.Add(1)
	c.health.writes.Add(uint64(len(b.jobs)))
	c.health.diskFull.Store(false)
	return c.health.files.stillThere()
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

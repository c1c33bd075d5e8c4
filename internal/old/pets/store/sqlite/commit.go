package sqlite

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// committer is the goroutine that writes. It gathers the jobs that wait, runs each
// batch in one transaction and replies after the commit: one fsync for all its jobs.
// It takes no context: a caller that gives up must not roll back its neighbours.
type committer struct {
	queue  *queue
	w      *writer
	folder *folder
	state  *fileState
}

func startCommitter(w *writer, f *folder, state *fileState) *committer {
	c := &committer{queue: newQueue(), w: w, folder: f, state: state}
	go c.run()
	return c
}

// write has the committer run apply and returns once it is committed.
func (c *committer) write(ctx context.Context, apply func(*writer) error) error {
	return c.queue.write(ctx, &job{apply: apply})
}

// create is write for a pet, which shares a statement with others.
func (c *committer) create(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	j := &job{row: row{pet: p.WithID(0)}}
	if err := c.queue.write(ctx, j); err != nil {
		return pets.Pet{}, err
	}
	return j.pet, nil
}

// writeExclusive runs a job that may take long in a transaction of its own. Any error of
// the job undoes all of it. Once the job runs, it ends soon after ctx only if apply does.
func (c *committer) writeExclusive(ctx context.Context, apply func(*writer) error) error {
	return c.queue.write(ctx, &job{apply: apply, exclusive: true})
}

// close lets the committer finish the jobs that wait and waits for its end.
func (c *committer) close() {
	c.queue.close()
	<-c.queue.ended
}

func (c *committer) run() {
	defer close(c.queue.ended)
	for first := c.queue.first(); first != nil; first = c.queue.first() {
		if first.claimed.Load() {
			continue // its caller has left
		}
		batch := c.queue.gather(first)
		err := c.begin(batch)
		if err == nil && !first.exclusive {
			batch = c.queue.add(batch) // begin may have waited
		}
		if batch = take(batch); err == nil {
			err = c.commit(batch)
		}
		c.queue.batchEnded(len(batch))
		reply(batch, c.judge(err))
		if c.state.failure.Load() == nil {
			c.judgeFold(c.folder.afterCommit())
		}
	}
}

// reply tells the callers of the batch its error, or else each that of its own job.
func reply(batch []*job, err error) {
	for _, j := range batch {
		if err != nil {
			j.err = err
		}
		j.err = translate(j.err)
		close(j.done)
	}
}

// maxBusy bounds how long a caller without a deadline waits for another process.
const maxBusy = time.Minute

// begin begins a transaction. While another process writes, as an import does
// for seconds, it tries again, as long as somebody waits for the batch.
func (c *committer) begin(batch []*job) error {
	if failure := c.state.failure.Load(); failure != nil {
		return failure
	}
	if err := c.folder.beforeWrite(); err != nil {
		return err
	}
	for end := time.Now().Add(maxBusy); ; {
		_, err := c.w.begin.Exec()
		if !dbfile.IsBusy(err) || c.pointless(batch) || time.Now().After(end) {
			return err
		}
	}
}

// pointless reports whether nobody waits for the batch any more, or nobody should,
// since the store is being closed.
func (c *committer) pointless(batch []*job) bool {
	if c.queue.isClosing() {
		return true
	}
	return !slices.ContainsFunc(batch, func(j *job) bool { return !j.claimed.Load() })
}

// commit runs the batch in the transaction that was begun. A job that breaks a
// constraint fails alone, its statement undone. Any other error undoes all jobs, and
// so does any error of an exclusive job.
func (c *committer) commit(batch []*job) error {
	if len(batch) == 0 {
		return c.undo(nil)
	}
	rows := make([]*row, 0, len(batch))
	for _, j := range batch {
		if j.apply == nil {
			rows = append(rows, &j.row)
			continue
		}
		if j.err = j.apply(c.w); j.err != nil && (j.exclusive || !isConstraint(j.err)) {
			return c.undo(j.err)
		}
	}
	if err := c.w.insert(rows); err != nil {
		return c.undo(err)
	}
	if _, err := c.w.commit.Exec(); err != nil {
		return c.undo(err)
	}
	c.state.commits.Add(1)
	c.state.writes.Add(uint64(len(batch)))
	c.state.diskFull.Store(false)
	return c.state.files.stillThere()
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

// judge notes the error of a batch. After a fatal one nothing is written any
// more.
func (c *committer) judge(err error) error {
	c.state.met(err)
	if isFatal(err) {
		return c.state.fail(err)
	}
	return err
}

// judgeFold ends all writing where the log could not be folded.
func (c *committer) judgeFold(err error) {
	if err != nil {
		c.state.met(err)
		_ = c.state.fail(err) // the next batch gets it
	}
}

// foldLast folds the log once the committer has ended and there are no readers.
func (c *committer) foldLast() {
	if c.state.failure.Load() == nil {
		c.judgeFold(c.folder.fold())
	}
}

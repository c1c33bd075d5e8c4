package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	lib "modernc.org/sqlite/lib"
)

const (
	maxBatch = 128 // writes in one commit, which bounds how long the first one waits

	// returnTime is how long a batch waits for the callers of the previous one.
	// Without it, callers split into two groups, which doubles the commits.
	returnTime = 2 * time.Millisecond

	checkpointPages = 1000 // of the log (4 MiB), after which it is copied into the file
)

// writer owns the only connection that writes. Its goroutine runs all waiting jobs in
// one transaction. That has no context: a caller that gives up must not undo the writes
// of others.
type writer struct {
	db     *sql.DB
	faults *faults
	jobs   chan *job
	ended  chan struct{} // closed when all jobs are done, after jobs is closed
	turn   chan struct{} // holds a value while the connection is in use

	inserts statements

	commits atomic.Uint64
}

// job is one caller's write.
type job struct {
	run     func(*sql.Tx) error
	refused error       // the refusal that run returned; see isRefusal
	taken   atomic.Bool // set by the writer to run the job, or by the caller to cancel it
	done    chan error  // receives the result
}

func newWriter(file string, f *faults) *writer {
	return &writer{
		db: connect(file, toWrite), faults: f,
		jobs: make(chan *job, maxBatch), ended: make(chan struct{}), turn: make(chan struct{}, 1),
	}
}

// write makes the writer run f, which must refuse before it changes anything, and
// returns when it is committed. If ctx ends before the writer takes the job, nothing is
// done.
func (w *writer) write(ctx context.Context, f func(*sql.Tx) error) error {
	j := &job{run: f, done: make(chan error, 1)}
	select {
	case w.jobs <- j:
	case <-ctx.Done():
		return gaveUp(ctx.Err())
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
	}
	if j.taken.CompareAndSwap(false, true) {
		return gaveUp(ctx.Err())
	}
	return <-j.done
}

// writeAlone runs f, which may take long, in a transaction of its own.
func (w *writer) writeAlone(ctx context.Context, f func(*sql.Tx) error) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return gaveUp(ctx.Err())
	}
	defer func() { <-w.turn }()
	err := w.transact(f)
	w.checkpoint(checkpointPages)
	return err
}

func (w *writer) run() {
	defer close(w.ended)
	expected := 1 // callers that may come back
	for first := range w.jobs {
		w.turn <- struct{}{}
		n := w.runBatch(w.gather(first, expected))
		expected = min(n+len(w.jobs), maxBatch)
		w.checkpoint(checkpointPages)
		<-w.turn
	}
}

// gather returns a batch of first and the waiting jobs. While there are fewer
// than expected, it waits for more, up to returnTime.
func (w *writer) gather(first *job, expected int) []*job {
	batch := []*job{first}
	late := time.After(returnTime)
	for len(batch) < maxBatch && (len(batch) < expected || len(w.jobs) > 0) {
		select {
		case j, ok := <-w.jobs:
			if !ok {
				return batch
			}
			batch = append(batch, j)
		case <-late:
			return batch
		}
	}
	return batch
}

// runBatch runs the jobs in one transaction and answers them. If one fails, all
// are rolled back and each is run alone. It returns the number of jobs whose
// callers had not given up.
func (w *writer) runBatch(batch []*job) int {
	var taken []*job
	err := w.transact(func(tx *sql.Tx) error {
		for _, j := range batch {
			if j.taken.CompareAndSwap(false, true) {
				taken = append(taken, j)
			}
		}
		for _, j := range taken {
			j.refused = j.run(tx)
			if j.refused != nil && !isRefusal(j.refused) {
				return j.refused
			}
		}
		return nil
	})
	if err != nil && len(taken) > 1 && w.faults.writable() == nil {
		for _, j := range taken {
			j.done <- w.transact(j.run)
		}
		return len(taken)
	}
	for _, j := range batch {
		j.done <- cmp.Or(err, j.refused)
	}
	return len(taken)
}

// transact runs f in a transaction, unless nothing may be written.
func (w *writer) transact(f func(*sql.Tx) error) error {
	if err := w.faults.writable(); err != nil {
		return err
	}
	tx, err := w.db.Begin() // immediate, as set in the address
	if err == nil {
		err = f(tx)
		if err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback() // SQLite may already have done so
		}
	}
	if err != nil {
		return classify(w.faults.record(err))
	}
	w.commits.Add(1)
	w.faults.diskFull.Store(false)
	return w.faults.check()
}

// checkpoint copies the log into the file if it has at least minPages pages. A
// later call copies those that readers still need, or that found the disk full. Any
// other error ends the process, because acknowledged pages may be lost.
func (w *writer) checkpoint(minPages int) {
	if w.faults.failure.Load() != nil {
		return
	}
	var busy bool
	var pages, copied int
	err := w.db.QueryRow("PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &copied)
	if err == nil && pages >= minPages {
		err = w.db.QueryRow("PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &copied)
	}
	switch {
	case err == nil || isBusy(err): // a reader, or a checkpoint by another process
	case hasCode(err, lib.SQLITE_FULL), isCorrupt(err):
		_ = w.faults.record(err)
	default:
		_ = w.faults.fail(fmt.Errorf("the log could not be copied into the file: %w", err))
	}
}

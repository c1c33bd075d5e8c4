package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
	lib "modernc.org/sqlite/lib"
)

const (
	maxBatch = 128 // writes per commit; bounds the wait of the first

	// returnTime is how long a batch waits for the callers of the previous one. Without it,
	// callers split into two groups, which doubles the commits.
	returnTime = 2 * time.Millisecond

	checkpointPages = 1000 // length of the log (4 MiB) from which it is copied into the file
)

// job is one caller's write.
type job struct {
	run     func(Conn) error
	err     error // of run, if it is the caller's fault
	claimed atomic.Bool
	done    chan error // receives the result; buffered, as the caller may be gone
}

// claim reports whether this is the first call. runBatch claims a job to run it, its caller to cancel it.
func (j *job) claim() bool { return !j.claimed.Swap(true) }

// Write calls f in a transaction, perhaps several times: the last call counts. If f returns an error,
// nothing that it wrote is stored. An error of the caller's fault is cheapest before the first write.
// If ctx ends before f is called, nothing is done.
func (d *DB) Write(ctx context.Context, f func(Conn) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return db.ErrClosed
	}
	j := &job{run: f, done: make(chan error, 1)}
	select {
	case d.jobs <- j:
	case <-ctx.Done():
		return db.Canceled(ctx.Err())
	}
	select {
	case err := <-j.done:
		return err
	case <-ctx.Done():
	}
	if j.claim() {
		return db.Canceled(ctx.Err())
	}
	return <-j.done
}

// runJobs runs the waiting jobs in batches until the database is closed.
func (d *DB) runJobs() {
	expected := 1 // jobs in the next batch
	for first := range d.jobs {
		n := d.runBatch(d.gather(first, expected))
		expected = min(n+len(d.jobs), maxBatch)
		d.checkpoint(checkpointPages)
	}
}

// gather returns first and those that follow it: as many as expected, or as come within returnTime.
func (d *DB) gather(first *job, expected int) []*job {
	batch := []*job{first}
	late := time.After(returnTime)
	for len(batch) < expected {
		select {
		case j, ok := <-d.jobs:
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

// runBatch runs the jobs in one transaction, without those that were canceled before it began, sends
// their results and returns how many it ran. If one of several was rejected after it had written, they run
// again in savepoints. If that fails, or for another reason, each runs in a transaction of its own.
func (d *DB) runBatch(batch []*job) int {
	var claimed []*job
	err := d.transact(func(conn Conn) error {
		claimed = slices.DeleteFunc(slices.Clone(batch), func(j *job) bool { return !j.claim() })
		for _, j := range claimed {
			*conn.wrote = false
			j.err = j.run(conn)
			if j.err != nil && (*conn.wrote || !fault.ByCaller(j.err)) {
				return j.err
			}
		}
		return nil
	})
	if fault.ByCaller(err) && len(claimed) > 1 {
		err = d.transact(func(conn Conn) error {
			for _, j := range claimed {
				if err := j.runInSavepoint(conn); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil && len(claimed) > 1 {
		for _, j := range claimed {
			j.done <- d.transact(j.run)
		}
		return len(claimed)
	}
	for _, j := range batch { // nobody receives those of canceled jobs
		j.done <- cmp.Or(err, j.err)
	}
	return len(claimed)
}

// runInSavepoint runs the job and, if it is rejected, undoes what it wrote.
func (j *job) runInSavepoint(conn Conn) error {
	if _, err := conn.tx.Exec("SAVEPOINT job"); err != nil {
		return err
	}
	end := "RELEASE job"
	if j.err = j.run(conn); fault.ByCaller(j.err) {
		end = "ROLLBACK TO job; RELEASE job"
	} else if j.err != nil {
		return j.err
	}
	_, err := conn.tx.Exec(end)
	return err
}

// transact runs f in a transaction, unless writing has stopped. It has no context, because a
// canceled caller must not undo the writes of others.
func (d *DB) transact(f func(Conn) error) error {
	if err := d.check(); err != nil {
		return err
	}
	if damage := d.damage.Load(); damage != nil {
		return damage
	}
	if err := d.runTx(f); err != nil {
		return classify(d.record(err))
	}
	d.commits.Add(1)
	d.diskFull.Store(false)
	return d.check()
}

func (d *DB) runTx(f func(Conn) error) error {
	tx, err := d.writer.Begin() // immediate, as set in the address
	if err != nil {
		return err
	}
	if err := f(Conn{d.conn.prepared, tx, d.conn.wrote}); err != nil {
		_ = tx.Rollback() // SQLite may already have done so
		return err
	}
	return tx.Commit()
}

// checkpoint copies the log into the file if it has at least minPages pages. What it cannot copy, because
// of a reader or a full disk, is left to a later call. After any other error, acknowledged pages may be lost.
func (d *DB) checkpoint(minPages int64) {
	pages, err := d.measureLog()
	if err == nil && pages >= minPages && d.check() == nil {
		err = d.writer.QueryRow("PRAGMA wal_checkpoint(PASSIVE)").Scan(new(int), new(int), new(int))
	}
	switch {
	case err == nil || isBusy(err): // a reader, or a checkpoint by another process
	case hasCode(err, lib.SQLITE_FULL), isCorrupt(err):
		_ = d.record(err)
	default:
		_ = d.fail(fmt.Errorf("the log could not be copied into the file: %w", err))
	}
}

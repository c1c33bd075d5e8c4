package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/petstore/internal/db"
	lib "modernc.org/sqlite/lib"
)

const (
	maxBatch = 128 // writes in one commit, which bounds how long the first one waits

	// returnTime is how long a batch waits for the callers of the previous one.
	// Without it, callers split into two groups, which doubles the commits.
	returnTime = 2 * time.Millisecond

	checkpointPages = 1000 // of the log (4 MiB), after which it is copied into the file
)

// job is one caller's write.
type job struct {
	run     func(*sql.Tx) error
	refused error       // the refusal that run returned; see isRefusal
	taken   atomic.Bool // set to run the job, or by the caller to cancel it
	done    chan error  // receives the result
}

// write waits until runJobs has called f in a transaction, perhaps twice: the last call
// counts. f must refuse before it changes anything. If ctx ends before f is called,
// nothing is done.
func (s *Store) write(ctx context.Context, f func(*sql.Tx) error) error {
	return s.whileOpen(func() error {
		j := &job{run: f, done: make(chan error, 1)}
		select {
		case s.jobs <- j:
		case <-ctx.Done():
			return db.GaveUp(ctx.Err())
		}
		select {
		case err := <-j.done:
			return err
		case <-ctx.Done():
		}
		if j.taken.CompareAndSwap(false, true) {
			return db.GaveUp(ctx.Err())
		}
		return <-j.done
	})
}

// runJobs runs all waiting jobs in one transaction, and again until the store is closed.
func (s *Store) runJobs() {
	defer close(s.ended)
	expected := 1 // callers that may come back
	for first := range s.jobs {
		n := s.runBatch(s.gather(first, expected))
		expected = min(n+len(s.jobs), maxBatch)
		s.checkpoint(checkpointPages)
	}
}

// gather returns a batch of first and the waiting jobs. While there are fewer
// than expected, it waits for more, up to returnTime.
func (s *Store) gather(first *job, expected int) []*job {
	batch := []*job{first}
	late := time.After(returnTime)
	for len(batch) < maxBatch && (len(batch) < expected || len(s.jobs) > 0) {
		select {
		case j, ok := <-s.jobs:
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
func (s *Store) runBatch(batch []*job) int {
	var taken []*job
	err := s.transact(func(tx *sql.Tx) error {
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
	if err != nil && len(taken) > 1 && s.faults.writable() == nil {
		for _, j := range taken {
			j.done <- s.transact(j.run)
		}
		return len(taken)
	}
	for _, j := range batch {
		j.done <- cmp.Or(err, j.refused)
	}
	return len(taken)
}

// transact runs f in a transaction, unless nothing may be written. Another one waits
// for the connection meanwhile. A transaction has no context: a caller that gives up must
// not undo the writes of others.
func (s *Store) transact(f func(*sql.Tx) error) error {
	if err := s.faults.writable(); err != nil {
		return err
	}
	tx, err := s.writer.Begin() // immediate, as set in the address
	if err == nil {
		err = f(tx)
		if err == nil {
			err = tx.Commit()
		} else {
			_ = tx.Rollback() // SQLite may already have done so
		}
	}
	if err != nil {
		return classify(s.faults.record(err))
	}
	s.commits.Add(1)
	s.faults.diskFull.Store(false)
	return s.faults.check()
}

// checkpoint copies the log into the file if it has at least minPages pages. A
// later call copies those that readers still need, or that found the disk full. Any
// other error ends the process, because acknowledged pages may be lost.
func (s *Store) checkpoint(minPages int) {
	if s.faults.failure.Load() != nil {
		return
	}
	var busy bool
	var pages, copied int
	err := s.writer.QueryRow("PRAGMA wal_checkpoint(NOOP)").Scan(&busy, &pages, &copied)
	if err == nil && pages >= minPages {
		err = s.writer.QueryRow("PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &copied)
	}
	switch {
	case err == nil || isBusy(err): // a reader, or a checkpoint by another process
	case hasCode(err, lib.SQLITE_FULL), isCorrupt(err):
		_ = s.faults.record(err)
	default:
		_ = s.faults.fail(fmt.Errorf("the log could not be copied into the file: %w", err))
	}
}

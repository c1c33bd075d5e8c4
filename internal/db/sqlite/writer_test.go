package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/fault"
)

// A caller whose turn comes waits for one that has just been answered, and both share a commit.
func TestCallersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, newPath(t))
		defer mustClose(t, d)
		began, answered := time.Now(), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = d.Write(t.Context(), func(Conn) error { <-answered; return nil })
			time.Sleep(returnTime / 2)
			mustCreate(t, d, "again")
		})
		synctest.Wait()
		wg.Go(func() { mustCreate(t, d, "a") })
		synctest.Wait()
		close(answered)
		wg.Wait()
		if commits, took := d.commits.Load(), time.Since(began); commits != 2 || took != returnTime/2 {
			t.Errorf("got %d commits in %v, want 2 in %v, as soon as the first caller is back", commits, took, returnTime/2)
		}
	})
}

// A write that is refused, fails or makes the commit fail does so alone.
func TestJobFails(t *testing.T) {
	for what, c := range map[string]struct {
		run    func(conn Conn) error
		shared bool // it is in one commit with the others
	}{
		"refusal":     {func(Conn) error { return fault.New(fault.NotFound, "none") }, true},
		"statement":   {func(conn Conn) error { _, err := conn.Stmt(insertTag).Exec(nil); return err }, false},
		"transaction": {func(conn Conn) error { return conn.tx.Rollback() }, false}, // the commit, if it is alone
	} {
		for _, others := range []int{1, 10} {
			d := open(t, newPath(t))
			insert := func(conn Conn) error { return conn.Stmt(insertNote).QueryRow("a").Scan(new(int64)) }
			var batch []*job
			for i := range 1 + others {
				batch = append(batch, &job{run: insert, done: make(chan error, 1)})
				if i == others/2 {
					batch[i].run = c.run
				}
			}
			d.runBatch(batch)
			for i, j := range batch {
				err := <-j.done
				if (err != nil) != (i == others/2) || err != nil && fault.ByCaller(err) != c.shared {
					t.Errorf("%s: job %d: got error %v, want only job %d to fail", what, i, err, others/2)
				}
			}
			want := uint64(others)
			if c.shared {
				want = 1
			}
			if commits, stored := d.commits.Load(), len(walk(t, d)); commits != want || stored != others {
				t.Errorf("%s: got %d commits of %d notes, want %d of %d", what, commits, stored, want, others)
			}
		}
	}
}

// A call ends with its context while it waits for its turn, while the queue is full, or
// while all readers are in use. Then nothing was done.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, newPath(t))
		defer mustClose(t, d)
		const queued = 127 // with the late one that fills the queue
		var late, inTime sync.WaitGroup
		held := make(chan struct{})
		inTime.Go(func() { _ = d.Write(t.Context(), func(Conn) error { <-held; return nil }) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the bubble's
		defer cancel()
		errs := make([]error, 3)
		late.Go(func() { _, errs[0] = create(ctx, d, "late") })
		synctest.Wait()
		for range queued {
			inTime.Go(func() { mustCreate(t, d, "in time") })
		}
		synctest.Wait()
		late.Go(func() { _, errs[1] = create(ctx, d, "late") })
		var used []Conn
		for range d.readers {
			used = append(used, <-d.idle)
		}
		late.Go(func() { errs[2] = d.Read(ctx, readAll) })
		late.Wait()
		for i, err := range errs {
			if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("call %d: got error %v, want unavailable, because the context has ended", i, err)
			}
		}
		for _, conn := range used {
			d.idle <- conn
		}
		close(held)
		inTime.Wait()
		if got := len(walk(t, d)); got != queued {
			t.Errorf("got %d notes, want those in time", got)
		}
	})
}

// TestFull limits the number of pages, after which SQLite reports a full disk.
func TestFull(t *testing.T) {
	d, created := open(t, newPath(t)), 0
	limit := func(pages int) error {
		return d.writer.QueryRow(fmt.Sprint("PRAGMA max_page_count = ", pages)).Scan(&pages)
	}
	err := limit(30)
	for ; err == nil && created < 100; created++ {
		_, err = create(t.Context(), d, strings.Repeat("x", 6000))
	}
	stored, full := len(walk(t, d)), gauge(t, d, "sqlite_disk_full")
	if fault.KindOf(err) != fault.Unavailable || stored != created-1 || full != 1 {
		t.Errorf("got error %v, %d notes and sqlite_disk_full %v, want unavailable, %d and 1", err, stored, full, created-1)
	}
	if err := limit(1000); err != nil {
		t.Fatal(err)
	}
	mustCreate(t, d, "a")
	if full := gauge(t, d, "sqlite_disk_full"); full != 0 {
		t.Errorf("sqlite_disk_full after a write: got %v, want 0", full)
	}
}

// The log restarts when its pages are in the file, unless a reader is using it.
func TestLogLength(t *testing.T) {
	d := open(t, newPath(t))
	fill := func(what string, least, most int64) {
		for range 50 {
			mustCreate(t, d, strings.Repeat("x", 500_000))
		}
		if info, err := os.Stat(d.file + logSuffix); err != nil || info.Size() < least || info.Size() > most {
			t.Errorf("%s: got the log %v, error %v, want %d to %d bytes", what, info, err, least, most)
		}
	}
	fill("no reader", 0, 12<<20)
	reading, err := d.readers[0].Begin()
	if err == nil {
		err = reading.QueryRow("SELECT count(*) FROM notes").Scan(new(int))
	}
	if err != nil {
		t.Fatal(err)
	}
	fill("a reader", 24<<20, 1<<40)
	_ = reading.Rollback()
	fill("after it", 0, 16<<20)
}

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/fault"
)

// inBubble calls f with an open database in a synctest bubble: synctest.Wait returns when
// every caller is waiting for the writer, and the writer for the test.
func inBubble(t *testing.T, f func(t *testing.T, d *DB)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := open(t, newPath(t))
		defer mustClose(t, d)
		f(t, d)
	})
}

// call is a create in the background.
type call struct {
	id  int64
	err error
}

// start makes n calls, which need not have ended when it returns.
func start(t *testing.T, d *DB, n int, text string) []*call {
	calls := make([]*call, n)
	for i := range calls {
		calls[i] = &call{}
		go func() { calls[i].id, calls[i].err = create(t.Context(), d, text) }()
	}
	synctest.Wait()
	return calls
}

// hold keeps the writer busy until the function that it returns is called.
func hold(d *DB) (resume func()) {
	held := make(chan struct{})
	go func() { _ = d.Write(context.Background(), func(Conn) error { <-held; return nil }) }()
	synctest.Wait()
	return func() { close(held) }
}

// settle waits until the writer is idle.
func settle() {
	time.Sleep(time.Second) // the bubble's time
	synctest.Wait()
}

// Callers that write again as soon as they have an answer share commits.
func TestCallersComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T, d *DB) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				time.Sleep(time.Duration(i%2) * returnTime / 2) // two halves
				for range 50 {
					mustCreate(t, d, "a")
					time.Sleep(returnTime / 2)
				}
			})
		}
		wg.Wait()
		if commits := d.commits.Load(); commits > 1600/20 {
			t.Errorf("got %d commits of 1600 writes, want at least 20 in each", commits)
		}
	})
}

// A write that is refused, fails or makes the commit fail does so alone.
func TestJobFails(t *testing.T) {
	for what, c := range map[string]struct {
		run     func(conn Conn) error
		commits uint64 // of it and ten others that wait for one
	}{
		"refusal":     {func(Conn) error { return fault.New(fault.NotFound, "none") }, 2},
		"statement":   {func(conn Conn) error { _, err := conn.Stmt(insertTag).Exec(nil); return err }, 11},
		"transaction": {func(conn Conn) error { return conn.tx.Rollback() }, 11}, // the commit, if it is alone
	} {
		inBubble(t, func(t *testing.T, d *DB) {
			resume := hold(d)
			calls := start(t, d, 5, "before")
			var failed error
			go func() { failed = d.Write(context.Background(), c.run) }()
			synctest.Wait()
			calls = append(calls, start(t, d, 5, "after")...)
			resume()
			settle()
			if failed == nil || fault.IsCallers(failed) != (what == "refusal") {
				t.Errorf("%s: got error %v", what, failed)
			}
			stored := walk(t, d)
			for i, c := range calls {
				if c.err != nil || stored[c.id] == "" {
					t.Errorf("%s: call %d: got id %d (stored: %q), error %v", what, i, c.id, stored[c.id], c.err)
				}
			}
			if got := d.commits.Load(); got != c.commits || len(stored) != len(calls) {
				t.Errorf("%s: got %d commits of %d notes, want %d of %d", what, got, len(stored), c.commits, len(calls))
			}
		})
	}
}

// A call ends with its context while it waits for its turn, while the queue is full, or
// while all readers are in use. Then nothing was done.
func TestContextEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, d *DB) {
		resume := hold(d)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the bubble's
		defer cancel()
		errs := make([]error, 3)
		var wg sync.WaitGroup
		wg.Go(func() { _, errs[0] = create(ctx, d, "late") })
		synctest.Wait()
		start(t, d, maxBatch-1, "in time")
		wg.Go(func() { _, errs[1] = create(ctx, d, "late") })
		var used []Conn
		for range d.readers {
			used = append(used, <-d.idle)
		}
		wg.Go(func() { errs[2] = d.Read(ctx, func(Conn) error { return nil }) })
		wg.Wait()
		for i, err := range errs {
			if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("call %d: got error %v, want unavailable, because the context has ended", i, err)
			}
		}
		for _, conn := range used {
			d.idle <- conn
		}
		resume()
		settle()
		if got := len(walk(t, d)); got != maxBatch-1 {
			t.Errorf("got %d notes, want those in time", got)
		}
	})
}

// TestFull limits the number of pages, after which SQLite reports a full disk.
func TestFull(t *testing.T) {
	d, created, refused := open(t, newPath(t)), ledger{}, 0
	for _, pages := range []int{30, 1000} {
		if err := d.writer.QueryRow(fmt.Sprint("PRAGMA max_page_count = ", pages)).Scan(new(int)); err != nil {
			t.Fatal(err)
		}
		for range 40 {
			text := strings.Repeat("🐘", 1500)
			id, err := create(t.Context(), d, text)
			if err == nil {
				created[id] = text
			} else if refused++; pages > 30 || fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%d pages: got error %v, want unavailable, and only if they are few", pages, err)
			}
			if full := gauge(t, d, "sqlite_disk_full") == 1; full != (err != nil) {
				t.Errorf("sqlite_disk_full: got %v after error %v", full, err)
			}
		}
	}
	if stored := walk(t, d); !reflect.DeepEqual(stored, created) || refused == 0 || len(created) < 41 {
		t.Errorf("got %d notes, %d created and %d refused", len(stored), len(created), refused)
	}
}

// The log restarts when its pages are in the file, unless a reader is using it.
func TestLogLength(t *testing.T) {
	inBubble(t, func(t *testing.T, d *DB) {
		fill := func(what string, least, most int64) {
			for range 50 {
				start(t, d, 50, strings.Repeat("x", 5000))
				settle()
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
	})
}

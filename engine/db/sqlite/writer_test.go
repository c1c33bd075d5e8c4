package sqlite

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/db/dbtest"
	"example.com/petstore/engine/fault"
)

// A caller waits up to 2 ms for one that has just been answered, and both share a commit.
func TestCallersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := open(t, newPath(t))
		began, answered := time.Now(), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			_ = d.Write(t.Context(), func(Conn) error { <-answered; return nil })
			time.Sleep(time.Millisecond)
			mustCreate(t, d, "again")
		})
		synctest.Wait()
		wg.Go(func() { mustCreate(t, d, "a") })
		synctest.Wait()
		close(answered)
		wg.Wait()
		if commits, took := d.commits.Load(), time.Since(began); commits != 2 || took != time.Millisecond {
			t.Errorf("got %d commits in %v, want 2 in 1ms, as soon as the first caller is back", commits, took)
		}
		began = time.Now()
		mustCreate(t, d, "alone")
		if took := time.Since(began); took != 2*time.Millisecond {
			t.Errorf("alone: got %v, want 2ms", took)
		}
	})
}

// A write that is refused, fails or makes the commit fail does so alone.
func TestJobFails(t *testing.T) {
	refusal := fault.New(fault.NotFound, "none")
	for what, c := range map[string]struct {
		run    func(conn Conn) error
		shared bool // it is in one commit with the others
	}{
		"refusal":      {func(Conn) error { return refusal }, true},
		"half a write": {func(conn Conn) error { return cmp.Or(insert(conn), error(refusal)) }, true},
		"statement":    {func(conn Conn) error { _, err := conn.Stmt(insertTag).Exec(nil); return err }, false},
		"transaction":  {func(conn Conn) error { return conn.tx.Rollback() }, false}, // the commit, if it is alone
	} {
		for others, runs := range [][]func(Conn) error{{c.run}, {c.run, insert}, {c.run, insert, insert}} {
			d := open(t, newPath(t))
			var batch []*job
			for _, run := range runs {
				batch = append(batch, &job{run: run, done: make(chan error, 1)})
			}
			d.runBatch(batch)
			for i, j := range batch {
				err := limited(func() error { return <-j.done })
				if (err != nil) != (i == 0) || err != nil && fault.ByCaller(err) != c.shared {
					t.Errorf("%s: job %d of %d: got error %v, want only job 0 to fail", what, i, len(runs), err)
				}
			}
			want := uint64(others)
			if c.shared && (others > 0 || what == "refusal") {
				want = 1
			}
			if commits, stored := d.commits.Load(), len(walk(t, d)); commits != want || stored != others {
				t.Errorf("%s of %d: got %d commits of %d notes, want %d of %d", what, len(runs), commits, stored, want, others)
			}
		}
	}
}

// TestWaiting ends the context of calls that wait in the queue, for a place in it and for a reader, and of a statement.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, held := open(t, newPath(t)), make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second) // the bubble's
		defer cancel()
		var inTime, late sync.WaitGroup
		inTime.Go(func() { must(t, d.Write(t.Context(), func(Conn) error { <-held; return nil })) })
		synctest.Wait()
		var errs [4]error
		late.Go(func() { _, errs[0] = create(ctx, d, "late") })
		synctest.Wait()
		for range 128 { // as many as a batch may have, without the late one
			inTime.Go(func() { mustCreate(t, d, "in time") })
		}
		synctest.Wait()
		late.Go(func() { _, errs[1] = create(ctx, d, "late") })
		var used []Conn
		for range d.readers {
			used = append(used, <-d.idle)
		}
		errs[2] = d.Ping(ctx)
		late.Wait()
		for _, conn := range used {
			d.idle <- conn
		}
		errs[3] = d.Read(t.Context(), func(conn Conn) error {
			_, err := conn.Stmt(selectNotes).QueryContext(ctx)
			return err
		})
		for i, err := range errs {
			if fault.KindOf(err) != fault.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("call %d: got error %v, want unavailable, because the context has ended", i, err)
			}
		}
		close(held)
		inTime.Wait()
		if commits, stored := d.commits.Load(), len(walk(t, d)); commits != 3 || stored != 128 {
			t.Errorf("got %d commits of %d notes, want 3 of the 128 in time", commits, stored)
		}
	})
}

// TestFull limits the number of pages, after which SQLite reports a full disk.
func TestFull(t *testing.T) {
	d := open(t, newPath(t))
	_, _ = d.writer.Exec("PRAGMA max_page_count = 1") // or as many as there are
	_, err := create(t.Context(), d, strings.Repeat("x", 10_000))
	if full := dbtest.Metrics(t, d)["sqlite_disk_full"]; fault.KindOf(err) != fault.Unavailable || full != 1 {
		t.Errorf("got error %v and sqlite_disk_full %v, want unavailable and 1", err, full)
	}
	_, _ = d.writer.Exec("PRAGMA max_page_count = 1000")
	mustCreate(t, d, "a")
	if full, stored := dbtest.Metrics(t, d)["sqlite_disk_full"], len(walk(t, d)); full != 0 || stored != 1 {
		t.Errorf("got sqlite_disk_full %v and %d notes after a write, want 0 and 1", full, stored)
	}
}

// The log restarts when its pages are in the file, unless a reader is using it. A log that lacks a byte is noticed.
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
	_, err := d.readers[0].Exec("BEGIN; SELECT count(*) FROM notes")
	must(t, err)
	fill("a reader", 24<<20, 1<<40)
	_, _ = d.readers[0].Exec("ROLLBACK")
	fill("after it", 0, 16<<20)
	sqlOn(t, d.file, "PRAGMA wal_checkpoint(TRUNCATE)") // the log is shorter than it was, and whole
	mustCreate(t, d, "a")
	pages, err := d.measureLog()
	must(t, errors.Join(err, os.Truncate(d.file+"-wal", 32+pages*(24+4096)-1))) // the last byte is missing
	wantError(t, "Ping", d.Ping(t.Context()), "was emptied or cut")
}

// createAll has several goroutines create as many notes each as the second argument says, and closes the
// database. With a third argument, it uses one goroutine, and exits without closing once a note is refused.
func createAll(ctx context.Context, args []string) error {
	runtime.LockOSThread() // for strace, which counts calls per thread
	d, err := schema.Open(ctx, args[0], db.Options{})
	if err != nil {
		return err
	}
	most, _ := strconv.Atoi(args[1])
	if len(args) > 2 { // "exit"
		if err := createMany(ctx, d, "alone", most); fault.KindOf(err) != fault.Unavailable {
			return fmt.Errorf("no note was refused: %w", err)
		}
		os.Exit(0)
	}
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = createMany(ctx, d, fmt.Sprintf("%d/%d", os.Getpid(), i), most) })
	}
	wg.Wait()
	return errors.Join(append(errs, d.Close())...)
}

func createMany(ctx context.Context, d *DB, name string, most int) error {
	for n := range most {
		id, err := create(ctx, d, longText(name, n))
		if err != nil {
			return err
		}
		fmt.Println(id, n, name)
	}
	return nil
}

// longText returns the text of a note that may fill several pages.
func longText(name string, n int) string {
	return fmt.Sprint(name, "/", n, strings.Repeat("🐈", n%5*500))
}

// read adds the next notes that createAll printed, at most n, and returns their number.
func (l ledger) read(t testing.TB, lines *bufio.Scanner, n int) (read int) {
	t.Helper()
	for ; read < n && lines.Scan(); read++ {
		var id int64
		var n int
		var name string
		_, err := fmt.Sscan(lines.Text(), &id, &n, &name)
		if before, twice := l[id]; twice || err != nil {
			t.Fatalf("a line of the child: got %q, error %v, want another note than %.40q", lines.Text(), err, before)
		}
		l[id] = longText(name, n)
	}
	return read
}

// TestKill has several processes write to a new store, backs it up, and kills one after the other.
func TestKill(t *testing.T) {
	path, l := newPath(t), ledger{}
	var running []*exec.Cmd
	var lines []*bufio.Scanner
	for range 4 {
		c := child(t, nil, "create", path, "1000000")
		out, err := c.StdoutPipe()
		must(t, errors.Join(err, c.Start()))
		running, lines = append(running, c), append(lines, bufio.NewScanner(out))
	}
	for i, c := range running {
		for _, scanner := range lines[i:] {
			if n := l.read(t, scanner, 50); n < 50 {
				t.Fatalf("got %d notes and the end of the child's output, want 50", n)
			}
		}
		to := newPath(t)
		mustBackup(t, path, to)
		l.check(t, to)
		must(t, c.Process.Kill())
		l.read(t, lines[i], math.MaxInt)
		_ = c.Wait() // it was killed
		l.check(t, path)
	}
}

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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
			assert.NoError(t, d.Write(t.Context(), insert))
		})
		synctest.Wait()
		wg.Go(func() { assert.NoError(t, d.Write(t.Context(), insert)) })
		synctest.Wait()
		close(answered)
		wg.Wait()
		assert.EqualValues(t, 2, d.commits.Load(), "commits")
		assert.Equal(t, time.Millisecond, time.Since(began), "until the first caller is back")
		began = time.Now()
		mustCreate(t, d, "alone")
		assert.Equal(t, 2*time.Millisecond, time.Since(began), "alone")
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
				ok := (err != nil) == (i == 0) && (err == nil || fault.ByCaller(err) == c.shared)
				assert.True(t, ok, "%s: job %d of %d: got error %v, want only job 0 to fail", what, i, len(runs), err)
			}
			want := uint64(others)
			if c.shared && (others > 0 || what == "refusal") {
				want = 1
			}
			assert.Equal(t, want, d.commits.Load(), "%s of %d: commits", what, len(runs))
			assert.Len(t, walk(t, d), others, "%s of %d: notes", what, len(runs))
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
		inTime.Go(func() { assert.NoError(t, d.Write(ctx, func(Conn) error { <-held; return nil })) }) // it runs
		synctest.Wait()
		var errs [4]error
		late.Go(func() { _, errs[0] = create(ctx, d, "late") })
		synctest.Wait()
		for range 128 { // as many as a batch may have, without the late one
			inTime.Go(func() { assert.NoError(t, d.Write(t.Context(), insert)) })
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
			dbtest.WantKind(t, fmt.Sprint("call ", i), err, fault.Unavailable)
			assert.ErrorIs(t, err, context.DeadlineExceeded, "call %d", i)
		}
		close(held)
		inTime.Wait()
		assert.EqualValues(t, 3, d.commits.Load(), "commits")
		assert.Len(t, walk(t, d), 128, "notes: those in time")
	})
}

// TestFull limits the number of pages, after which SQLite reports a full disk.
func TestFull(t *testing.T) {
	d := open(t, newPath(t))
	_, _ = d.writer.Exec("PRAGMA max_page_count = 1") // or as many as there are
	_, err := create(t.Context(), d, strings.Repeat("x", 10_000))
	dbtest.WantKind(t, "a full disk", err, fault.Unavailable)
	assert.Equal(t, 1.0, dbtest.Metrics(t, d)["sqlite_disk_full"])
	_, _ = d.writer.Exec("PRAGMA max_page_count = 1000")
	mustCreate(t, d, "a")
	assert.Zero(t, dbtest.Metrics(t, d)["sqlite_disk_full"], "after a write")
	assert.Len(t, walk(t, d), 1)
}

// The log restarts when its pages are in the file, unless a reader is using it. A log that lacks a byte is noticed.
func TestLogLength(t *testing.T) {
	d := open(t, newPath(t))
	fill := func(what string, least, most int64) {
		for range 50 {
			mustCreate(t, d, strings.Repeat("x", 500_000))
		}
		info, err := os.Stat(d.file + logSuffix)
		require.NoError(t, err)
		assert.True(t, least <= info.Size() && info.Size() <= most, "%s: got a log of %d bytes", what, info.Size())
	}
	fill("no reader", 0, 12<<20)
	_, err := d.readers[0].Exec("BEGIN; SELECT count(*) FROM notes")
	require.NoError(t, err)
	fill("a reader", 24<<20, 1<<40)
	_, _ = d.readers[0].Exec("ROLLBACK")
	fill("after it", 0, 16<<20)
	sqlOn(t, d.file, "PRAGMA wal_checkpoint(TRUNCATE)") // the log is shorter than it was, and whole
	mustCreate(t, d, "a")
	pages, err := d.measureLog()
	require.NoError(t, errors.Join(err, os.Truncate(d.file+"-wal", 32+pages*(24+4096)-1))) // the last byte is missing
	assert.ErrorContains(t, d.Ping(t.Context()), "was emptied or cut", "Ping")
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
	for ; read < n && lines.Scan(); read++ {
		var id int64
		var n int
		var name string
		_, err := fmt.Sscan(lines.Text(), &id, &n, &name)
		isNew := err == nil && l[id] == ""
		require.True(t, isNew, "a child printed %q, error %v, want a note other than %.40q", lines.Text(), err, l[id])
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
		require.NoError(t, errors.Join(err, c.Start()))
		running, lines = append(running, c), append(lines, bufio.NewScanner(out))
	}
	for i, c := range running {
		for _, scanner := range lines[i:] {
			require.Equal(t, 50, l.read(t, scanner, 50), "notes before the end of the child's output")
		}
		to := newPath(t)
		_, err := schema.Backup(t.Context(), path, to, false)
		require.NoError(t, err)
		l.check(t, to)
		require.NoError(t, c.Process.Kill())
		l.read(t, lines[i], math.MaxInt)
		_ = c.Wait() // it was killed
		l.check(t, path)
	}
}

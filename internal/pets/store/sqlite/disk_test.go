//go:build unix

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
	"example.com/petstore/internal/pets/store/sqlite/disktest"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

// These tests have a child write to a disk that fails. The parent, whose disk is
// whole, is the next start.

// planEnv tells the child when its disk fails: a plan, printed.
const planEnv = "PETSTORE_TEST_DISK"

// plan fails one call of SQLite: the nth such call from the opening of the store, or
// from its closing.
type plan struct {
	op      disktest.Op
	log     bool
	nth     int
	fault   disktest.Fault
	closing bool
}

func (p plan) String() string {
	return fmt.Sprintf("%s %t %d %d %t", p.op, p.log, p.nth, p.fault, p.closing)
}

func parsePlan(s string) (p plan, err error) {
	_, err = fmt.Sscanf(s, "%s %t %d %d %t", &p.op, &p.log, &p.nth, &p.fault, &p.closing)
	return p, err
}

// failingDisk carries a plan out, and counts.
type failingDisk struct {
	mu     sync.Mutex
	plan   plan
	armed  bool
	met    int                   // calls that the plan is about
	failed bool                  // the plan was carried out
	after  int                   // calls after that
	calls  map[disktest.Call]int // until the first fold of all of the log
	folds  int
	counts [3]int // see firstFold
}

func (d *failingDisk) judge(c disktest.Call) disktest.Fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return disktest.None
	}
	if d.failed {
		d.after++
		return disktest.None
	}
	if d.folds == 0 {
		d.calls[c]++
		d.countFold(c)
	}
	if c.Op != d.plan.op || c.Log != d.plan.log {
		return disktest.None
	}
	if d.met++; d.met != d.plan.nth {
		return disktest.None
	}
	d.failed = true
	return d.plan.fault
}

// countFold notes where in the order of all calls the first fold is.
func (d *failingDisk) countFold(c disktest.Call) {
	switch {
	case c == disktest.Call{Op: disktest.Write} && d.calls[c] == 1:
		d.counts[0] = d.calls[disktest.Call{Op: disktest.Sync, Log: true}]
	case c == disktest.Call{Op: disktest.Sync}:
		d.folds++
		d.counts[1] = d.calls[disktest.Call{Op: disktest.Write}]
		d.counts[2] = d.calls[disktest.Call{Op: disktest.Write, Log: true}]
	}
}

func (d *failingDisk) arm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = true
}

// createOnAFailingDisk creates pets until the store has failed.
func createOnAFailingDisk(ctx context.Context, path string) error {
	p, err := parsePlan(os.Getenv(planEnv))
	if err != nil {
		return err
	}
	d := &failingDisk{plan: p, calls: map[disktest.Call]int{}}
	if err := disktest.Mount(d.judge); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	if p.closing {
		if err := createSome(ctx, s, 10); err != nil {
			return err
		}
		d.arm()
		if err := s.Close(); err == nil {
			return errors.New("closing: got no error, want the disk's")
		}
		return d.wantUntouched()
	}
	d.arm()
	if err := createSome(ctx, s, 600); pets.KindOf(err) != pets.Internal || err == nil {
		return fmt.Errorf("600 creates: got error %v, want an internal one; the calls of a fold were %v", err, d.counts)
	}
	select {
	case err := <-s.Failed():
		if !strings.Contains(err.Error(), "disk I/O error") {
			return fmt.Errorf("the store's failure: got %w, want SQLite's reason", err)
		}
	default:
		return errors.New("the store's failure: got none, want it once a create is refused")
	}
	if _, err := s.Pet(ctx, 1); err != nil {
		return fmt.Errorf("a read after the failure: got error %w, want a pet", err)
	}
	if err := s.Close(); err != nil {
		return fmt.Errorf("closing after the failure was delivered: got error %w, want nil", err)
	}
	return d.wantUntouched()
}

// createSome creates n pets of some pages each, and prints those acknowledged.
func createSome(ctx context.Context, s *sqlite.Store, n int) error {
	for i := range n {
		pet, err := s.CreatePet(ctx, pets.NewPet{Name: fmt.Sprint(i, strings.Repeat("x", 16<<10)), Status: pets.Sold})
		if err != nil {
			return err
		}
		printPet(pet)
	}
	return nil
}

// wantUntouched wants the log and the file left as they were when the disk failed.
// What SQLite did within the very call that met the fault, such as undoing a write, is
// part of that call.
func (d *failingDisk) wantUntouched() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.failed:
		return fmt.Errorf("got no fault, want one; the calls of a fold were %v", d.counts)
	case d.after > 0:
		return fmt.Errorf("after the fault: got %d calls that change the files, want none", d.after)
	}
	return nil
}

// aFold is a fold among the calls of a child, which are the same each time.
type aFold struct{ logSyncs, writes, logWrites int }

// firstFold returns which sync of the log begins the first fold, how many writes to
// the file it has, and how many to the log there were until its end.
var firstFold = sync.OnceValues(func() (f aFold, err error) {
	dir, err := os.MkdirTemp("", "fold")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	_, err = runChild("disk", dir+"/pets.db", planEnv+"="+plan{op: "none"}.String())
	if err == nil {
		return f, errors.New("a child without a fault: got success, want its counts")
	}
	_, counts, _ := strings.Cut(err.Error(), "the calls of a fold were [")
	_, err = fmt.Sscanf(counts, "%d %d %d]", &f.logSyncs, &f.writes, &f.logWrites)
	return f, err
})

func TestADiskThatFailsEndsWritingAndLosesNothing(t *testing.T) {
	fold, err := firstFold()
	if err != nil || fold.writes < 10 {
		t.Fatalf("the first fold: got %+v (error %v), want at least ten writes", fold, err)
	}
	const log, file = true, false
	for name, p := range map[string]plan{
		"a write of the log":                       {op: disktest.Write, log: log, nth: 40},
		"an fsync of the log":                      {op: disktest.Sync, log: log, nth: 20},
		"an fsync of the log that loses pages":     {op: disktest.Sync, log: log, nth: 20, fault: disktest.Lost},
		"the fsync of the log before a fold":       {op: disktest.Sync, log: log, nth: fold.logSyncs},
		"the first write of a fold":                {op: disktest.Write, log: file, nth: 1},
		"a write in the middle of a fold":          {op: disktest.Write, log: file, nth: fold.writes / 2},
		"the last write of a fold":                 {op: disktest.Write, log: file, nth: fold.writes},
		"the fsync of a fold":                      {op: disktest.Sync, log: file, nth: 1},
		"the fsync of a fold that loses pages":     {op: disktest.Sync, log: file, nth: 1, fault: disktest.Lost},
		"the fsync of the third fold, with losses": {op: disktest.Sync, log: file, nth: 3, fault: disktest.Lost},
		"the first write of the log after a fold":  {op: disktest.Write, log: log, nth: fold.logWrites + 1},
		"the fsync of the log at the end":          {op: disktest.Sync, log: log, nth: 1, closing: true},
		"the first write of the file at the end":   {op: disktest.Write, log: file, nth: 1, closing: true},
		"a write in the middle at the end":         {op: disktest.Write, log: file, nth: 5, closing: true},
		"the fsync of the file at the end":         {op: disktest.Sync, log: file, nth: 1, closing: true},
		"an fsync that loses pages at the end":     {op: disktest.Sync, log: file, nth: 1, fault: disktest.Lost, closing: true},
	} {
		if p.fault == disktest.None {
			p.fault = disktest.Fail
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := freshPath(t)
			out, err := runChild("disk", path, planEnv+"="+p.String())
			if err != nil {
				t.Error(err)
			}
			ledger := map[int64]pets.Pet{}
			for line := range strings.Lines(out) {
				note(t, ledger, strings.TrimSuffix(line, "\n"))
			}
			if len(ledger) == 0 {
				t.Error("got no pets acknowledged before the failure, want some")
			}
			checkLedger(t, path, ledger)
			wantSound(t, path)
		})
	}
}

func TestServersThatStartAtOnceAfterAFailedDiskAllStart(t *testing.T) {
	path := freshPath(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	if err := dbfile.MarkFailed(path, errors.New("fsync failed")); err != nil {
		t.Fatal(err)
	}
	var starts sync.WaitGroup
	for range 4 {
		starts.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Errorf("opening: got error %v, want a store", err)
				return
			}
			t.Cleanup(func() { _ = s.Close() }) // all are open at once
		})
	}
	starts.Wait()
}

func wantSound(t *testing.T, path string) {
	t.Helper()
	report, err := upkeep.Verify(t.Context(), path)
	if err := errors.Join(err, report.Err()); err != nil {
		t.Errorf("the file: got error %v, want it sound", err)
	}
}

// A shell that reads holds the log back, so that a part of it is folded and never
// synced. While the shell lives, so does the index, which says that the part is in
// the file.
func TestPagesLostWhileAShellReadsAreFoundOnceItEnds(t *testing.T) {
	path := freshPath(t)
	c := startChild(t, "shell", path)
	ledger := map[int64]pets.Pet{}
	noteUntil := func(end string) {
		t.Helper()
		for line := c.mustLine(t); line != end; line = c.mustLine(t) {
			note(t, ledger, line)
		}
	}
	noteUntil("half")
	shell := startChild(t, "read", path)
	shell.mustLine(t)
	fmt.Fprintln(c.in)
	noteUntil("folded in part")
	fmt.Fprintln(shell.in)
	shell.mustLine(t)
	fmt.Fprintln(c.in)
	noteUntil("failed")
	c.mustEnd(t)

	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "end all others that have the file open") {
		t.Errorf("opening beside the shell: got error %v, want it refused", err)
	}
	if _, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true}); err == nil || !strings.Contains(err.Error(), "start petstore serve on it once") {
		t.Errorf("reading beside the shell: got error %v, want it refused", err)
	}
	fmt.Fprintln(shell.in)
	shell.mustEnd(t)
	checkLedger(t, path, ledger)
	wantSound(t, path)
}

// readAsAShell reads in a transaction, and ends that and then itself when it is told.
// The kernel tells each process that had the file open of the lost pages. SQLite
// folds the log when the last process closes the file, and leaves the log where that
// fails.
func readAsAShell(ctx context.Context, path string) error {
	if err := disktest.Mount(func(c disktest.Call) disktest.Fault {
		if c == (disktest.Call{Op: disktest.Sync}) {
			return disktest.Fail
		}
		return disktest.None
	}); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	for _, query := range []string{"BEGIN; SELECT count(*) FROM pets", "COMMIT"} {
		if _, err := db.ExecContext(ctx, query); err != nil {
			return err
		}
		fmt.Println(query)
		wait()
	}
	return db.Close()
}

// createBesideAShell creates pets, of which the log is folded in part while the
// parent reads, and loses what is not on disk at the first fsync after that.
func createBesideAShell(ctx context.Context, path string) error {
	lose := make(chan struct{})
	if err := disktest.Mount(func(c disktest.Call) disktest.Fault {
		select {
		case <-lose:
			if c == (disktest.Call{Op: disktest.Sync}) {
				lose = nil // the kernel tells once
				return disktest.Lost
			}
		default:
		}
		return disktest.None
	}); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	if err := createSome(ctx, s, 100); err != nil {
		return err
	}
	fmt.Println("half")
	wait()
	if err := createSome(ctx, s, 150); err != nil {
		return err
	}
	if s.Stats(ctx).LogHeld == 0 {
		return errors.New("beside a shell that reads: got nothing held back, want a part of the log")
	}
	fmt.Println("folded in part")
	wait()
	close(lose)
	if err := createSome(ctx, s, 600); err == nil {
		return errors.New("600 creates: got no error, want the disk's")
	}
	fmt.Println("failed")
	<-s.Failed()
	return s.Close()
}

// wait waits for a line of the parent.
func wait() {
	var b [1]byte
	_, _ = os.Stdin.Read(b[:])
}

func TestADiskThatIsFullWhileTheLogIsFoldedIsUnavailable(t *testing.T) {
	path := freshPath(t)
	out, err := runChild("full", path)
	if err != nil {
		t.Fatal(err)
	}
	ledger := map[int64]pets.Pet{}
	for line := range strings.Lines(out) {
		note(t, ledger, strings.TrimSuffix(line, "\n"))
	}
	checkLedger(t, path, ledger)
	wantSound(t, path)
}

// createOnAFullDisk creates pets while the file has no room, and then while it has.
func createOnAFullDisk(ctx context.Context, path string) error {
	var mu sync.Mutex
	full := false
	fill := func(to bool) {
		mu.Lock()
		defer mu.Unlock()
		full = to
	}
	if err := disktest.Mount(func(c disktest.Call) disktest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if full && c == (disktest.Call{Op: disktest.Write}) {
			return disktest.Full
		}
		return disktest.None
	}); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	for range 2 {
		fill(true)
		if err := createSome(ctx, s, 600); pets.KindOf(err) != pets.Unavailable || !strings.Contains(err.Error(), "the disk is full") {
			return fmt.Errorf("600 creates on a full disk: got error %w, want unavailable, the disk is full", err)
		}
		if err := s.Ping(ctx); err != nil {
			return fmt.Errorf("a ping on a full disk: got error %w, want nil", err)
		}
		if !s.Stats(ctx).DiskFull {
			return errors.New("stats on a full disk: got disk not full, want full")
		}
		fill(false)
		if err := createSome(ctx, s, 300); err != nil {
			return fmt.Errorf("creating once there is room: got error %w", err)
		}
	}
	select {
	case err := <-s.Failed():
		return fmt.Errorf("the store's failure: got %w, want none", err)
	case <-time.After(0):
	}
	return s.Close()
}

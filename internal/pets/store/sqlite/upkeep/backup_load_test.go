//go:build unix && !race

package upkeep_test

import (
	"bufio"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// The race detector slows SQLite, C translated to Go, down twentyfold, and finds
// nothing in a run of two processes. So `make test` runs this test without it.

// ledger keeps the identifiers that a child reports as acknowledged.
type ledger struct {
	mu   sync.Mutex
	ids  []int64
	grew *sync.Cond
}

func (l *ledger) follow(t *testing.T, lines *bufio.Scanner) {
	for lines.Scan() {
		id, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Errorf("a line of the child: got %q, want an identifier", lines.Text())
		}
		l.mu.Lock()
		l.ids = append(l.ids, id)
		l.mu.Unlock()
		l.grew.Broadcast()
	}
}

// after waits for n more identifiers, and returns all.
func (l *ledger) after(n int) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	for want := len(l.ids) + n; len(l.ids) < want; {
		l.grew.Wait()
	}
	return l.ids
}

func TestABackupUnderLoadHasAllThatWasAcknowledgedBeforeIt(t *testing.T) {
	path, restored := freshPath(t), freshPath(t)
	c := child(t, "create a thousand a second", path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	acknowledged := &ledger{}
	acknowledged.grew = sync.NewCond(&acknowledged.mu)
	var following sync.WaitGroup
	following.Go(func() { acknowledged.follow(t, bufio.NewScanner(out)) })
	const backups = 50
	for range backups {
		before := acknowledged.after(20)
		backup := filepath.Join(t.TempDir(), "backup.db")
		report := mustBackUp(t, path, backup)
		if report.Animals < int64(len(before)) {
			t.Errorf("got a backup of %d animals, want at least %d", report.Animals, len(before))
		}
		mustRestore(t, restored, backup, true)
		s := open(t, restored)
		for _, id := range before {
			if pet, err := s.Pet(t.Context(), id); err != nil || pet != rex.WithID(id) {
				t.Errorf("pet %d, which was acknowledged before: got %v (error %v), want it in the backup", id, pet, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	following.Wait()
	_ = c.Wait() // it was killed
	t.Logf("%d backups beside %d creates", backups, len(acknowledged.ids))
}

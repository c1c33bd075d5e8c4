//go:build unix && !race

package sqlite_test

import (
	"path/filepath"
	"sync"
	"testing"

	"example.com/petstore/internal/pets"
)

// The race detector slows SQLite, C translated to Go, down twentyfold, and finds
// nothing in a run of two processes. So `make test` runs this test without it.

// ledgerOf keeps the pets that a child reports as acknowledged.
type ledgerOf struct {
	mu   sync.Mutex
	pets map[int64]pets.Pet
	grew *sync.Cond
}

func (l *ledgerOf) follow(t *testing.T, c *child) {
	for c.lines.Scan() {
		l.mu.Lock()
		note(t, l.pets, c.lines.Text())
		l.mu.Unlock()
		l.grew.Broadcast()
	}
}

// after waits for n more pets, and returns a copy of all.
func (l *ledgerOf) after(n int) map[int64]pets.Pet {
	l.mu.Lock()
	defer l.mu.Unlock()
	for want := len(l.pets) + n; len(l.pets) < want; {
		l.grew.Wait()
	}
	all := make(map[int64]pets.Pet, len(l.pets))
	for id, pet := range l.pets {
		all[id] = pet
	}
	return all
}

func TestABackupUnderLoadHasAllThatWasAcknowledgedBeforeIt(t *testing.T) {
	path, restored := freshPath(t), freshPath(t)
	c := startChild(t, "trickle", path)
	ledger := &ledgerOf{pets: map[int64]pets.Pet{}}
	ledger.grew = sync.NewCond(&ledger.mu)
	var following sync.WaitGroup
	following.Go(func() { ledger.follow(t, c) })
	const backups = 50
	for range backups {
		before := ledger.after(20)
		backup := filepath.Join(t.TempDir(), "backup.db")
		report := mustBackUp(t, path, backup)
		if report.Animals < int64(len(before)) {
			t.Errorf("got a backup of %d pets, want at least %d", report.Animals, len(before))
		}
		mustRestore(t, restored, backup, true)
		checkLedger(t, restored, before)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	following.Wait()
	_ = c.Wait() // it was killed
	t.Logf("%d backups beside %d creates", backups, len(ledger.pets))
}

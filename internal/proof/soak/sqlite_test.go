//go:build postgres && torture

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// diskSize holds an hour of creates and is filled in a second.
const diskSize = 1 << 30

// startSQLite starts two servers on one file, on a small disk of its own.
func startSQLite(t *testing.T, random *rand.Rand) *deployment {
	dir, disk := t.TempDir(), t.TempDir()
	limited := mountDisk(t, disk)
	address := "sqlite:" + filepath.Join(disk, "pets.db")
	d := &deployment{random: random, ledger: newLedger()}
	for i := range 2 {
		d.servers = append(d.servers, newServer(t, fmt.Sprintf("sqlite-%d", i), dir, func() []string { return []string{"--store", address} }))
	}
	d.events = append(d.commonEvents(address, dir),
		event{"a backup, verified and compared", 3, func(t *testing.T) { d.backup(t, address, dir) }},
		event{"the index removed", 1, func(t *testing.T) { d.removeIndex(t, filepath.Join(disk, "pets.db")) }})
	if _, err := exec.LookPath("strace"); err == nil {
		d.events = append(d.events, event{"a failed write or fsync", 2, func(t *testing.T) { d.failDisk(t, filepath.Join(disk, "pets.db")) }})
	} else {
		t.Log("there is no strace, so no write and no fsync fails")
	}
	if limited {
		d.events = append(d.events, event{"a full disk", 2, func(t *testing.T) { fillDisk(t, disk) }})
	} else {
		t.Log("this user may not mount a small disk, so no disk is filled")
	}
	return d
}

// mountDisk makes dir a disk of diskSize in memory, where this user may.
func mountDisk(t *testing.T, dir string) bool {
	t.Helper()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%d", diskSize), "none", dir).Run(); err != nil {
		return false
	}
	t.Cleanup(func() {
		if err := exec.Command("umount", "-l", dir).Run(); err != nil {
			t.Errorf("unmounting the small disk: got error %v", err)
		}
	})
	return true
}

// fillDisk takes all the space that is left, and gives it back after a second.
func fillDisk(t *testing.T, disk string) {
	t.Helper()
	ballast := filepath.Join(disk, "ballast")
	f, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size >= 4096; size /= 4 {
		for block := make([]byte, size); err == nil; {
			_, err = f.Write(block)
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("filling the disk: got error %v, want that it is full", err)
		}
		err = nil
	}
	time.Sleep(time.Second) // how long the outage lasts
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
}

// failDisk fails every write or every fsync of a server to the file or to its log,
// until it ends. The next start wants the file alone, so the other server ends, too.
func (d *deployment) failDisk(t *testing.T, file string) {
	t.Helper()
	name := []string{file, file + "-wal"}[d.random.IntN(2)]
	calls := []string{"fsync,fdatasync", "pwrite64"}[d.random.IntN(2)]
	s := d.anyServer()
	fault := exec.Command("strace", "-f", "-qq", "-o", os.DevNull, "-P", name, "-e", "trace="+calls, "-e", "inject="+calls+":error=EIO", "-p", strconv.Itoa(s.pid()))
	if err := fault.Start(); err != nil {
		t.Fatal(err)
	}
	stop := d.createAt(t, s) // the load may have left this server, which then folds nothing
	code := s.awaitEnd(t)
	stop()
	_ = fault.Wait() // it ends with the server
	if code != 1 {
		t.Errorf("%s of %s failed: got exit status %d, want 1", calls, name, code)
	}
	for _, other := range d.servers {
		other.signal(syscall.SIGTERM)
	}
	for _, s := range d.servers {
		s.start(t)
	}
}

// createAt has a client create animals at that server until it is stopped.
func (d *deployment) createAt(t *testing.T, s *server) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &client{d: d, name: fmt.Sprintf("sent-to-the-end-%d", d.random.Int64()), http: &http.Client{Timeout: 20 * time.Second}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			c.at = slices.Index(d.servers, s)
			c.create(ctx, i)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// removeIndex removes the index under the servers, which end before they acknowledge
// anything more.
func (d *deployment) removeIndex(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(file + "-shm"); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.servers {
		if code := s.awaitEnd(t); code != 1 {
			t.Errorf("the index was removed: got exit status %d, want 1", code)
		}
	}
	for _, s := range d.servers {
		s.start(t)
	}
}

// backup backs the store up under load, and holds the copy against the animals
// acknowledged before.
func (d *deployment) backup(t *testing.T, address, dir string) {
	t.Helper()
	before := d.ledger.snapshot()
	file := filepath.Join(dir, fmt.Sprintf("backup-%d.db", d.random.Int64()))
	for _, args := range [][]string{
		{"backup", "--store", address, file},
		{"verify", "--store", "sqlite:" + file},
	} {
		if _, err := petstore(args...); err != nil {
			t.Error(err)
			return
		}
	}
	copied := newServer(t, "copy", dir, func() []string { return []string{"--store", "sqlite:" + file} })
	walked, err := walk(copied)
	copied.signal(syscall.SIGTERM)
	if err != nil {
		t.Error(err)
		return
	}
	if lost, doubled := compare(before, walked); lost > 0 || doubled > 0 {
		t.Errorf("a backup: got %d of %d animals missing and %d twice, want none", lost, len(before), doubled)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		_ = os.Remove(file + suffix) // an hour of copies would fill the disk
	}
}

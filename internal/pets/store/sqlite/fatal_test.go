//go:build unix

package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
)

func TestAWriteErrorOfTheKernelEndsWritingButNotReading(t *testing.T) {
	path := freshPath(t)
	c := startChild(t, "fail", path)
	ledger := map[int64]pets.Pet{}
	line := c.mustLine(t)
	for ; line != "failed"; line = c.mustLine(t) {
		note(t, ledger, line)
	}
	c.mustEnd(t)
	if len(ledger) == 0 {
		t.Error("got no pets acknowledged before the failure, want some")
	}
	checkLedger(t, path, ledger)
}

// createUntilTheFileMayNotGrow has the kernel refuse to let a file of this process
// grow much past the log's size. SQLite meets EFBIG, which it takes for an I/O error,
// like EIO of a broken disk. The limit is taken back afterwards, and the store must
// not believe in it.
func createUntilTheFileMayNotGrow(ctx context.Context, path string) error {
	signal.Ignore(syscall.SIGXFSZ)
	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	create := func() error {
		p := pets.NewPet{Name: strings.Repeat("x", 1000), Status: pets.Sold}
		pet, err := s.CreatePet(ctx, p)
		if err == nil {
			printPet(pet)
		}
		return err
	}
	if err := create(); err != nil {
		return err
	}
	log, err := os.Stat(path + "-wal")
	if err != nil {
		return err
	}
	var free syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	tight := syscall.Rlimit{Cur: uint64(log.Size()) + 64<<10, Max: free.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &tight); err != nil {
		return err
	}
	for err == nil {
		err = create()
	}
	if pets.KindOf(err) != pets.Internal {
		return fmt.Errorf("the failed create: got error %w (%v), want internal", err, pets.KindOf(err))
	}
	select {
	case <-s.Failed():
	default:
		return fmt.Errorf("Failed: got nothing, want the error delivered before the caller is told")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &free); err != nil {
		return err
	}
	if err := create(); pets.KindOf(err) != pets.Internal || err == nil {
		return fmt.Errorf("a create after the failure: got error %v, want internal", err)
	}
	if _, err := s.Pet(ctx, 1); err != nil {
		return fmt.Errorf("reading after the failure: got error %w, want a pet", err)
	}
	select {
	case err := <-s.Failed():
		return fmt.Errorf("Failed: got a second error %w, want one", err)
	default:
	}
	fmt.Println("failed")
	return nil // and no Close: the process is as good as dead
}

func TestADamagedFileEndsWriting(t *testing.T) {
	path := freshPath(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatalf("closing: got error %v", err)
	}
	overwriteRootPage(t, path, "pets")
	s := open(t, path)
	for range 2 {
		_, err := s.CreatePet(t.Context(), pets.NewPet{Name: "late", Status: pets.Sold})
		if err == nil || pets.KindOf(err) != pets.Internal {
			t.Errorf("creating in a damaged file: got error %v, want internal", err)
		}
	}
	select {
	case err := <-s.Failed():
		if err == nil || !strings.Contains(err.Error(), "malformed") {
			t.Errorf("failure: got %v, want one that says malformed", err)
		}
	default:
		t.Error("got no failure delivered, want one")
	}
	if err := s.CreateKey(t.Context(), pets.Key{ID: "new"}); err == nil {
		t.Error("storing a key, whose table is whole: got it stored, want it refused: nothing this process writes can be trusted")
	}
	if _, err := s.Keys(t.Context()); err != nil {
		t.Errorf("listing keys: got error %v, want them: reading goes on", err)
	}
}

// overwriteRootPage damages the first page of a table, as a failing disk would.
func overwriteRootPage(t *testing.T, path, table string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatalf("opening by hand: got error %v", err)
	}
	var root, size int64
	err = db.QueryRowContext(t.Context(), "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = ?", table).Scan(&root, &size)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatalf("finding the page: got error %v", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatalf("opening the file: got error %v", err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte(strings.Repeat("\xa5", int(size))), (root-1)*size); err != nil {
		t.Fatalf("damaging the file: got error %v", err)
	}
}

func TestADamagedPageIsNotReadyAndCounted(t *testing.T) {
	path := freshPath(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatalf("closing: got error %v", err)
	}
	overwriteRootPage(t, path, "keys")
	s := open(t, path)
	wantDamage := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "the database is damaged; petstore verify says where") {
			t.Errorf("%s: got error %v, want one that names the damage", what, err)
		}
	}
	wantDamage("a ping before any request", s.Ping(t.Context()))
	if _, err := s.Keys(t.Context()); err == nil || pets.KindOf(err) != pets.Internal {
		t.Errorf("reading a damaged page: got error %v, want internal", err)
	}
	wantDamage("a ping after it", s.Ping(t.Context()))
	if got := s.Stats(t.Context()).Corruptions; got != 2 {
		t.Errorf("corruptions: got %d, want 2: the first ping and the read", got)
	}
	mustCreate(t, s, "in a table that is whole")
	select {
	case err := <-s.Failed():
		t.Errorf("got failure %v, want none: others may still read", err)
	default:
	}
}

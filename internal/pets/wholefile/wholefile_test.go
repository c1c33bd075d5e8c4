//go:build unix

package wholefile_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/pets/wholefile"
)

// The test binary is also the programs that some tests need. childEnv says which.
const childEnv = "PETSTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "die":
		if f, err := wholefile.Create(os.Args[1], false); err == nil {
			_ = os.WriteFile(f.Name()+"-wal", nil, 0o600)
			fmt.Println(f.Name())
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "write as nobody":
		if err := writeAsNobody(os.Args[1]); err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// runChild returns what another program, in a part of its own, prints.
func runChild(t *testing.T, part, name string) string {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, name)
	cmd.Env = append(os.Environ(), childEnv+"="+part)
	cmd.Stderr = t.Output()
	out, _ := cmd.Output() // one of them is killed
	return strings.TrimSpace(string(out))
}

func mustCreate(t *testing.T, name string, replace bool) *wholefile.File {
	t.Helper()
	f, err := wholefile.Create(name, replace)
	if err != nil {
		t.Fatalf("%s: got error %v, want a file", name, err)
	}
	t.Cleanup(func() { _ = f.Discard() })
	return f
}

func wantFiles(t *testing.T, folder string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("files: got %q, want %q", got, want)
	}
}

func TestAFileGetsItsNameWithItsContent(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pets.csv")
	for _, content := range []string{"first", "second"} {
		f := mustCreate(t, name, true)
		if filepath.Dir(f.Name()) != filepath.Dir(name) {
			t.Errorf("got a file %s, want it beside %s", f.Name(), name)
		}
		if _, err := f.WriteString(content); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Commit(), f.Discard()); err != nil {
			t.Errorf("got error %v, want the file to have its name", err)
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != content {
			t.Errorf("got %q (error %v), want %q", got, err, content)
		}
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("got mode %v (error %v), want -rw-------", info.Mode(), err)
		}
	}
	wantFiles(t, filepath.Dir(name), "pets.csv")
}

func TestADiscardedFileLeavesNothing(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pets.db")
	f := mustCreate(t, name, false)
	if err := os.WriteFile(f.Name()+"-wal", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Discard(); err != nil {
		t.Errorf("got error %v, want nil", err)
	}
	wantFiles(t, filepath.Dir(name))
}

func TestOnlyAFileMayBeReplacedAndOnlyWithLeave(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "pets.csv")
	if err := wholefile.CheckTarget(name, false); err != nil {
		t.Errorf("a new name: got error %v, want nil", err)
	}
	late := mustCreate(t, name, false)
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := late.Commit(); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a name that another program took meanwhile: got error %v, want it refused", err)
	}
	if err := wholefile.CheckTarget(name, true); err != nil {
		t.Errorf("with leave: got error %v, want nil", err)
	}
	for _, c := range []struct {
		name    string
		replace bool
		want    string
	}{
		{name, false, "is there already; choose another name, or replace it with --force"},
		{folder, true, "it is there and not a file"},
		{name + "/x", true, "cannot write " + name + "/x: not a directory"},
		{filepath.Join(folder, "missing", "x"), true, "x: no such file or directory"},
	} {
		if _, err := wholefile.Create(c.name, c.replace); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one that says %q", c.name, err, c.want)
		}
	}
}

func TestTheNextFileRemovesWhatAKilledProgramLeft(t *testing.T) {
	folder := t.TempDir()
	left := runChild(t, "die", filepath.Join(folder, "monday.db"))
	wantFiles(t, folder, filepath.Base(left), filepath.Base(left)+"-wal")
	mine := []string{".hidden", ".monday.db.1", "monday.db", "unfinished-1"}
	for _, name := range mine {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := mustCreate(t, filepath.Join(folder, "tuesday.db"), false)
	wantFiles(t, folder, ".hidden", ".monday.db.1", filepath.Base(first.Name()), "monday.db", "unfinished-1")

	second := mustCreate(t, filepath.Join(folder, "pets.csv"), false) // while the first is written
	if err := errors.Join(second.Commit(), second.Discard(), first.Commit(), first.Discard()); err != nil {
		t.Errorf("two at once: got error %v, want both files", err)
	}
	wantFiles(t, folder, ".hidden", ".monday.db.1", "monday.db", "pets.csv", "tuesday.db", "unfinished-1")
}

// A folder that may be written to and not read cannot be synced. Root may read it, so
// another user writes.
func TestAFileWhoseNameCouldNotBeSyncedIsSaidToBeThere(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "pets.csv")
	if err := errors.Join(os.Chmod(filepath.Dir(folder), 0o755), os.Chmod(folder, 0o333)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
	got := runChild(t, "write as nobody", name)
	if want := name + " is the new file, and whole, but a power cut may undo that: its folder could not be synced: permission denied"; got != want {
		t.Errorf("got error %q, want %q", got, want)
	}
	if content, err := os.ReadFile(name); err != nil || string(content) != "whole" {
		t.Errorf("got %q (error %v), want the file", content, err)
	}
}

func writeAsNobody(name string) error {
	if os.Getuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			return err
		}
	}
	f, err := wholefile.Create(name, false)
	if err != nil {
		return err
	}
	if _, err := f.WriteString("whole"); err != nil {
		return err
	}
	err = f.Commit()
	if _, unsynced := errors.AsType[*wholefile.UnsyncedError](err); !unsynced {
		return fmt.Errorf("got error %w, want an UnsyncedError", err)
	}
	return errors.Join(err, f.Discard())
}

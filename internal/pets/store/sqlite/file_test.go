//go:build unix

package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// replacements are what an operator's slip does to the files of a live store.
var replacements = map[string]func(path string) error{
	"all of them are removed": func(path string) error {
		return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
	},
	"the index is removed": func(path string) error { return os.Remove(path + "-shm") },
	"the log is removed":   func(path string) error { return os.Remove(path + "-wal") },
	"a copy is moved over the file": func(path string) error {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return errors.Join(os.WriteFile(path+".copy", content, 0o600), os.Rename(path+".copy", path))
	},
}

func TestNothingIsAcknowledgedOnceTheFileWasRemovedOrReplaced(t *testing.T) {
	for what, replace := range replacements {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := freshPath(t)
			s := openLoosely(t, path)
			mustCreate(t, s, "before")
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			pet, err := s.CreatePet(t.Context(), pets.NewPet{Name: "after", Status: pets.Sold})
			wantReplaced(t, fmt.Sprintf("a create (pet %v)", pet), err)
			wantReplaced(t, "the store's failure", mustFail(t, s))
			wantReplaced(t, "a ping", s.Ping(t.Context()))
			_, err = s.CreatePet(t.Context(), pets.NewPet{Name: "again", Status: pets.Sold})
			wantReplaced(t, "a second create", err)
		})
	}
}

func TestAPingNoticesThatTheFileWasReplacedWhileNobodyWrote(t *testing.T) {
	for what, replace := range replacements {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			path := freshPath(t)
			s := openLoosely(t, path)
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			wantReplaced(t, "a ping", s.Ping(t.Context()))
			wantReplaced(t, "the store's failure", mustFail(t, s))
		})
	}
}

func TestALinkThatLeadsElsewhereIsAReplacedFile(t *testing.T) {
	path, link := freshPath(t), freshPath(t)
	other := freshPath(t)
	for _, file := range []string{path, other} {
		if err := open(t, file).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s := openLoosely(t, link)
	mustCreate(t, s, "before")
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	_, err := s.CreatePet(t.Context(), pets.NewPet{Name: "after", Status: pets.Sold})
	wantReplaced(t, "a create", err)
}

// A second process would make an index of its own, which knows nothing of the first.
func TestADatabaseWhoseIndexWasRemovedUnderAServerIsNotOpened(t *testing.T) {
	t.Parallel()
	path := freshPath(t)
	s := openLoosely(t, path)
	mustCreate(t, s, "before")
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	for _, o := range []sqlite.Options{{}, {ReadOnly: true}} {
		second, err := sqlite.Open(t.Context(), path, o)
		if err == nil {
			_ = second.Close()
		}
		if err == nil || !strings.Contains(err.Error(), path+"-shm was removed while another process uses the database") {
			t.Errorf("opening with %+v: got error %v, want one that names the index", o, err)
		}
	}
}

func wantReplaced(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || pets.KindOf(err) != pets.Internal || !strings.Contains(err.Error(), "was removed or replaced while it was in use") {
		t.Errorf("%s: got error %v, want an internal one that says the file was removed or replaced", what, err)
	}
}

func mustFail(t *testing.T, s *sqlite.Store) error {
	t.Helper()
	select {
	case err := <-s.Failed():
		return err
	default:
		t.Fatal("Failed: got nothing, want the error that ends the program")
		return nil
	}
}

// openLoosely is open for a store whose files are taken away, which Close may
// complain of.
func openLoosely(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("opening %s: got error %v, want a store", path, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestWhoeverMakesAStoreIsToldWhere(t *testing.T) {
	var told []string
	o := sqlite.Options{
		Made:   func(path string) { told = append(told, "made "+path) },
		Notify: func(message string) { told = append(told, message) },
	}
	path := freshPath(t)
	for _, want := range [][]string{{"made " + path}, nil} {
		told = nil
		s, err := sqlite.Open(t.Context(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("closing: got error %v", err)
		}
		if !slices.Equal(told, want) {
			t.Errorf("got told %q, want %q", told, want)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(told) != 1 || !strings.Contains(told[0], "(mode 0644)") || !strings.Contains(told[0], "chmod 600") {
		t.Errorf("with a wide mode: got told %q, want the mode and how to close it", told)
	}
}

func TestAStoreThatMustExistIsNotMade(t *testing.T) {
	path := freshPath(t)
	wantRefused := func(want string) {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{MustExist: true})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
	wantRefused("there is no database at " + path)
	wantFiles(t, filepath.Dir(path))
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused("there is no database at " + path)
	wantFiles(t, filepath.Dir(path), "pets.db")
}

func TestADatabaseOfAnotherProgramIsLeftAsItIs(t *testing.T) {
	for what, query := range map[string]string{
		"another schema":            "CREATE TABLE songs (title TEXT)",
		"a table called pets":       "CREATE TABLE pets (breed TEXT)",
		"another schema with goose": "CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER); CREATE TABLE songs (title TEXT)",
	} {
		for _, o := range []sqlite.Options{{}, {MustExist: true}, {ReadOnly: true}} {
			path := freshPath(t)
			byHand(t, path, query)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s, err := sqlite.Open(t.Context(), path, o)
			if err == nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), path+" is a database of another program") {
				t.Errorf("%s: got error %v, want one that says it is another program's", what, err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Errorf("%s: got the file changed (error %v), want it as it was", what, err)
			}
		}
	}
}

func TestReadingOnlyMakesAndChangesNothing(t *testing.T) {
	path := freshPath(t)
	if s, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true}); err == nil {
		_ = s.Close()
		t.Error("where there is no database: got a store, want an error")
	}
	wantFiles(t, filepath.Dir(path))

	writer := open(t, path)
	pet := mustCreate(t, writer, "Rex")
	reader := openReadOnly(t, path)
	mustFind(t, reader, pet)
	mustFind(t, reader, mustCreate(t, writer, "beside a server"))
	if _, err := reader.CreatePet(t.Context(), pets.NewPet{Name: "x", Status: pets.Sold}); err == nil {
		t.Error("creating through a reader: got a pet, want it refused")
	}
	if err := errors.Join(reader.Close(), writer.Close()); err != nil {
		t.Fatalf("closing: got error %v", err)
	}

	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reader = openReadOnly(t, path)
	mustFind(t, reader, pet)
	if err := reader.Close(); err != nil {
		t.Errorf("closing: got error %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("got the file changed (error %v), want it as it was", err)
	}
	wantFiles(t, filepath.Dir(path), "pets.db", "pets.db-lock")
}

func openReadOnly(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("opening for reading: got error %v, want a store", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
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

// A folder and its files that this user may not write to stand for a read-only
// file system. Root may write to all of them, so another user looks.
func TestAFileThatMayNotBeWrittenIsReadAndNotServed(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "pets.db")
	s := open(t, path)
	pet := mustCreate(t, s, "Rex")
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	restrict := func(files ...string) {
		t.Helper()
		for _, file := range files {
			if err := os.Chmod(filepath.Join(folder, file), 0o444); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(os.Chmod(filepath.Dir(folder), 0o755), os.Chmod(folder, 0o555)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
	}
	restrict("pets.db", "pets.db-lock")
	look := func() []string {
		t.Helper()
		c := startChild(t, "look", path)
		lines := []string{c.mustLine(t), c.mustLine(t)}
		c.mustEnd(t)
		return lines
	}
	got := look()
	if !strings.HasPrefix(got[0], "serving: cannot write to "+path) {
		t.Errorf("got %q, want it to say that the file cannot be written to", got[0])
	}
	if want := fmt.Sprintf("reading: %v", pet); got[1] != want {
		t.Errorf("got %q, want %q", got[1], want)
	}
	wantFiles(t, folder, "pets.db", "pets.db-lock")

	if err := errors.Join(os.Chmod(folder, 0o700), os.WriteFile(path+"-wal", log, 0o444)); err != nil {
		t.Fatal(err)
	}
	restrict()
	if got := look()[1]; !strings.Contains(got, "copy both into a folder of your own") {
		t.Errorf("with a log: got %q, want it to say that both must be copied", got)
	}
}

// lookAsNobody opens the store as a user who owns nothing, to serve and to read.
func lookAsNobody(ctx context.Context, path string) error {
	const nobody = 65534
	if os.Getuid() == 0 {
		if err := syscall.Setuid(nobody); err != nil {
			return err
		}
	}
	if _, err := sqlite.Open(ctx, path, sqlite.Options{}); err != nil {
		fmt.Println("serving:", err)
	} else {
		fmt.Println("serving")
	}
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		fmt.Println("reading:", err)
		return nil
	}
	pet, err := s.Pet(ctx, 1)
	if err != nil {
		return err
	}
	fmt.Println("reading:", pet)
	return s.Close()
}

func TestAServerHoldsItsDatabaseUntilItEndsHowever(t *testing.T) {
	path := freshPath(t)
	wantUse := func(when string, want bool) {
		t.Helper()
		if got, err := dbfile.InUse(path); err != nil || got != want {
			t.Errorf("%s: got in use %v (error %v), want %v", when, got, err, want)
		}
	}
	wantUse("before there is one", false)
	a, b := open(t, path), open(t, path)
	wantUse("with two", true)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	wantUse("with one", true)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wantUse("with none", false)

	c := startChild(t, "create", path)
	c.mustLine(t)
	wantUse("with another process", true)
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	wantUse("after its kill", false)
}

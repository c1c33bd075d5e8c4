package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/db"
	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/storetest"
)

// stored is a store with its path.
type stored struct {
	*Store
	path string
}

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Factory{
		Open: func(t testing.TB) store.Store {
			path := newPath(t)
			return stored{open(t, path), path}
		},
		Reopen: func(t testing.TB, s store.Store) store.Store {
			old := s.(stored)
			mustClose(t, old.Store)
			return stored{open(t, old.path), old.path}
		},
		Change: func(t testing.TB, s store.Store, p pets.Pet) {
			sqlOn(t, s.(stored).path, "DELETE FROM pets WHERE id = ?", p.ID)
			sqlOn(t, s.(stored).path, insertPet, values(&p)...)
		},
		Remove: func(t testing.TB, s store.Store, id int64) {
			sqlOn(t, s.(stored).path, "DELETE FROM pets WHERE id = ?", id)
		},
		Last: func(t testing.TB, s store.Store, id int64) {
			sqlOn(t, s.(stored).path, "UPDATE sqlite_sequence SET seq = ? WHERE name = 'pets'", id)
		},
		Age: func(t testing.TB, s store.Store, key pets.IdempotencyKey, by time.Duration) {
			sqlOn(t, s.(stored).path, "UPDATE idempotency_keys SET created_at = created_at - ? WHERE key = ? AND key_id = ?",
				int64(by.Seconds()), key.Key, key.KeyID)
		},
	})
}

// A damaged file's .dump may lack the row that AUTOINCREMENT keeps. With and without an
// idempotency key, a pet then gets an identifier above all others.
func TestSequenceLost(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	mustCreate(t, s, "removed")
	last := mustCreate(t, s, "last").ID
	sqlOn(t, path, "DELETE FROM pets WHERE name = 'removed'")
	for _, key := range []string{"k1", "", "k2"} {
		sqlOn(t, path, "DELETE FROM sqlite_sequence")
		made, err := s.CreatePet(t.Context(), newPet("Rex"), pets.IdempotencyKey{Key: key})
		if last++; err != nil || made.ID != last {
			t.Errorf("key %q: got id %d, error %v, want %d", key, made.ID, err, last)
		}
	}
}

func TestPaths(t *testing.T) {
	for _, name := range []string{"with spaces.db", "100%.db", "%41%00.db", "a?mode=memory", "#1.db", "a&b=c;d", "file:x", "ünï 🐈", `back\slash`, `"quotes'`, "+"} {
		path := filepath.Join(t.TempDir(), name)
		for i := range 2 {
			s := open(t, path)
			if got := len(walk(t, s)); got != i {
				t.Errorf("%q: got %d pets, want %d", name, got, i)
			}
			mustCreate(t, s, "Rex")
			mustClose(t, s)
			wantFiles(t, path, name, name+"-lock")
		}
	}
}

func TestOpenRejects(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("notes"), strings.Repeat("all my notes\n", 1000))
	mustWrite(t, in("empty"), "")
	sqlOn(t, in("songs"), "CREATE TABLE songs (title TEXT)")
	sqlOn(t, in("breeds"), "CREATE TABLE pets (breed TEXT)")
	sqlOn(t, in("goose"), "CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER); CREATE TABLE songs (title TEXT)")
	for _, name := range []string{"one", "schemaless"} {
		mustClose(t, open(t, in(name)))
	}
	damageLeaf(t, in("schemaless"), "goose_db_version")
	if err := errors.Join(os.Link(in("one"), in("twin")), os.Symlink("gone", in("dangling"))); err != nil {
		t.Fatal(err)
	}
	_, err := Verify(t.Context(), in("twin"))
	wantError(t, "Verify", err, "has several names")
	_, err = Restore(t.Context(), in("twin"), backupOf(t, "a"), true)
	wantError(t, "Restore", err, "has several names")
	for _, c := range []struct {
		path, want string
		mustExist  bool
	}{
		{path: "", want: "not a file name"},
		{path: ":memory:", want: "not a file name"},
		{path: dir, want: "is not a regular file"},
		{path: in("notes"), want: "is not an SQLite database"},
		{path: in("missing/pets.db"), want: "its folder does not exist"},
		{path: in("songs"), want: "belongs to another program and was not changed"},
		{path: in("breeds"), want: "belongs to another program and was not changed"},
		{path: in("goose"), want: "belongs to another program and was not changed"},
		{path: in("songs-wal"), want: "a name that ends in -wal is that of a file of a store"},
		{path: in("songs-lock"), want: "a name that ends in -lock"},
		{path: in("twin"), want: "has several names (hard links)"},
		{path: in("dangling"), want: "is a symbolic link to nothing"},
		{path: in("schemaless"), want: "is damaged"},
		{path: in("none"), want: "there is no store at " + in("none"), mustExist: true},
		{path: in("empty"), want: "there is no store at " + in("empty"), mustExist: true},
	} {
		before, _ := os.ReadFile(c.path)
		s, err := Open(t.Context(), c.path, db.Options{MustExist: c.mustExist})
		if err == nil {
			_ = s.Close()
		}
		wantError(t, "Open", err, c.want)
		wantError(t, "Open", err, c.path)
		if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
			t.Errorf("%q: got the file changed, want it left alone", c.path)
		}
	}
	if _, err := os.Stat(in("none")); err == nil {
		t.Error("MustExist: got a file made, want none")
	}
}

// openLogged opens the store at path and returns its log, too.
func openLogged(t testing.TB, path string) (*Store, *strings.Builder) {
	t.Helper()
	var log strings.Builder
	s, err := Open(t.Context(), path, db.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, &log
}

// The first line of a start that reads a long log says so.
func TestLongLog(t *testing.T) {
	used := newPath(t)
	mustCreate(t, open(t, used), "Rex")
	path := copyOf(t, used)
	if err := os.Truncate(path+"-wal", 65<<20); err != nil { // SQLite ignores what does not belong to it
		t.Fatal(err)
	}
	s, log := openLogged(t, path)
	if !strings.Contains(log.String(), "reading a long log") || len(walk(t, s)) != 1 {
		t.Errorf("got the log %q and %d pets, want it told and 1 pet", log, len(walk(t, s)))
	}
}

// After a failed fsync nothing copies the log, and Close tells the failure if nobody was told.
func TestFailure(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	mustCreate(t, s, "Rex")
	before := contents(t, path)
	_ = s.faults.fail(errors.New("an fsync failed"))
	s.checkpoint(0)
	_, err := s.CreatePet(t.Context(), newPet("late"), pets.IdempotencyKey{})
	wantError(t, "CreatePet", err, "an fsync failed")
	wantError(t, "Close", s.Close(), "an fsync failed")
	if after := contents(t, path); after[""] != before[""] || after["-wal"] != before["-wal"] {
		t.Error("got the file or its log changed, want both as they were")
	}
}

// TestReplacedFile makes mistakes that an operator may make with a store in use, which
// is opened by a symbolic link. Ping, a write, or the commit of a write notices first.
func TestReplacedFile(t *testing.T) {
	const want = "was removed or replaced while it was in use"
	for what, c := range map[string]struct {
		replace func(path, link string) error
		reopen  string // the error, or "" if the acknowledged pet must be there again
	}{
		"log removed":   {func(path, _ string) error { return os.Remove(path + "-wal") }, ""},
		"index removed": {func(path, _ string) error { return os.Remove(path + "-shm") }, ""},
		"lock removed":  {func(path, _ string) error { return os.Remove(path + "-lock") }, ""},
		"link changed":  {func(path, link string) error { return errors.Join(os.Remove(link), os.Symlink(path+"2", link)) }, ""},
		"file moved":    {func(path, _ string) error { return os.Rename(path, path+"2") }, "is missing or empty, but its log"},
		"file emptied":  {func(path, _ string) error { return os.Truncate(path, 0) }, "is missing or empty, but its log"},
		"file replaced": {func(path, _ string) error { return os.Rename(backupOf(t, "other"), path) }, "is a backup, but its log"},
	} {
		for _, first := range []string{"Ping", "write", "commit"} {
			path, link := newPath(t), newPath(t)
			if err := os.Symlink(path, link); err != nil {
				t.Fatal(err)
			}
			mustClose(t, open(t, path))
			s := open(t, link)
			before := mustCreate(t, s, "before")
			wantFiles(t, link, "pets.db")
			var err error
			if first == "commit" {
				err = s.write(t.Context(), func(*sql.Tx) error { return c.replace(path, link) })
				wantError(t, what+": commit", err, want)
			} else if err = c.replace(path, link); err != nil {
				t.Fatal(err)
			}
			if first == "Ping" {
				wantError(t, what+": Ping", s.Ping(t.Context()), want)
			}
			_, err = s.CreatePet(t.Context(), newPet("after"), pets.IdempotencyKey{})
			wantError(t, what+": CreatePet", err, want)
			if fault.KindOf(err) != fault.Internal {
				t.Errorf("%s: got %v, want internal", what, fault.KindOf(err))
			}
			wantError(t, what+": Ping", s.Ping(t.Context()), want)
			if len(s.Failed()) == 0 {
				t.Fatalf("%s: Failed: got nothing, want an error", what)
			}
			wantError(t, what+": Failed", <-s.Failed(), want)
			var reading sync.WaitGroup
			for range 16 { // the file that is there now must not be touched
				reading.Go(func() { _, _ = s.Pets(t.Context(), pets.Query{Limit: 1}) })
			}
			reading.Wait()
			mustClose(t, s)
			if c.reopen != "" {
				_, err := Open(t.Context(), path, db.Options{})
				wantError(t, what+": Open", err, c.reopen)
			} else if got := walk(t, open(t, path))[before.ID]; !reflect.DeepEqual(got, before) {
				t.Errorf("%s: got %v, want %v", what, got, before)
			}
		}
	}
}

// damageLeaf overwrites the last leaf page of a table or an index.
func damageLeaf(t testing.TB, path, name string) {
	t.Helper()
	db := connect(path, url.Values{})
	var page int64
	err := db.QueryRow("SELECT max(pageno) FROM dbstat WHERE name = ? AND pagetype = 'leaf'", name).Scan(&page)
	content, readErr := os.ReadFile(path)
	if err := errors.Join(err, readErr, db.Close()); err != nil {
		t.Fatal(err)
	}
	copy(content[(page-1)*4096:], bytes.Repeat([]byte{0xa5}, 4096))
	mustWrite(t, path, string(content))
}

// TestDamage checks that a damaged page, whether a read or a write finds it first,
// ends all writing but not the process, and that sound pages are read.
func TestDamage(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	mustCreate(t, s, "Rex")
	mustClose(t, s)
	damageLeaf(t, path, "keys")
	for what, find := range map[string]func(s *Store) error{
		"read":  func(s *Store) error { _, err := s.Keys(t.Context()); return err },
		"write": func(s *Store) error { return s.CreateKey(t.Context(), keys.Key{ID: "new"}) },
	} {
		s, log := openLogged(t, path)
		before := figure(t, s, "sqlite_damaged")
		wantError(t, what, find(s), "malformed")
		_, err := s.CreatePet(t.Context(), newPet("late"), pets.IdempotencyKey{})
		wantError(t, what, err, "the database is damaged")
		if fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%s: got error %v, want unavailable: nothing was done", what, err)
		}
		page, err := s.Pets(t.Context(), pets.Query{Limit: 10})
		if err := errors.Join(err, s.Ping(t.Context())); err != nil || len(s.Failed()) > 0 || len(page.Pets) != 1 {
			t.Errorf("%s: got error %v, %d failures and pets %v, want only one pet", what, err, len(s.Failed()), page.Pets)
		}
		if after := figure(t, s, "sqlite_damaged"); before != 0 || after != 1 {
			t.Errorf("%s: sqlite_damaged: got %v, then %v, want 0, then 1", what, before, after)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=ERROR msg="the database is damaged"`) {
			t.Errorf("%s: log: got %q, want one line", what, got)
		}
		mustClose(t, s)
	}
}

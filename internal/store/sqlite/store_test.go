package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/sqlite"
	"example.com/petstore/internal/store/storetest"
)

// stored is a store with its path.
type stored struct {
	*sqlite.Store
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
			sqlOn(t, s.(stored).path, fmt.Sprintf("UPDATE pets SET name = '%s', category_id = %d, status = '%s' WHERE id = %d", p.Name, p.CategoryID, p.Status, p.ID))
		},
		Remove: func(t testing.TB, s store.Store, id int64) {
			sqlOn(t, s.(stored).path, fmt.Sprintf("DELETE FROM pets WHERE id = %d", id))
		},
	})
}

func TestPaths(t *testing.T) {
	for _, name := range []string{
		"with spaces.db", "100%.db", "%41%00.db", "what?.db", "a?mode=memory", "#1.db", "a&b=c;d", "file:x", "ünï 🐈", `back\slash`, `"quotes'`, "+",
	} {
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
	t.Chdir(t.TempDir())
	mustClose(t, open(t, "pets.db"))
	wantFiles(t, "pets.db", "pets.db", "pets.db-lock")
}

func TestMode(t *testing.T) {
	path := newPath(t)
	var log strings.Builder
	for _, want := range []string{"created a new store", ""} {
		log.Reset()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if got := log.String(); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("log: got %q, want %q", got, want)
		}
		for _, suffix := range []string{"", "-wal", "-shm", "-lock"} {
			if info, err := os.Stat(path + suffix); err != nil || info.Mode() != 0o600 {
				t.Errorf("%s: got %v, error %v, want mode 600", suffix, info, err)
			}
		}
		mustClose(t, s)
	}
}

func mustSQL(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// sqlOn runs SQL on a file as another tool would.
func sqlOn(t testing.TB, path string, queries ...string) {
	t.Helper()
	db := mustSQL(t, path)
	for _, query := range queries {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Errorf("%s: got error %v", query, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func mustWrite(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRejects(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	mustWrite(t, in("notes"), strings.Repeat("all my notes\n", 1000))
	mustWrite(t, in("empty"), "")
	sqlOn(t, in("songs"), "CREATE TABLE songs (title TEXT)")
	sqlOn(t, in("breeds"), "CREATE TABLE pets (breed TEXT)")
	sqlOn(t, in("goose"), "CREATE TABLE goose_db_version (id INTEGER, version_id INTEGER)", "CREATE TABLE songs (title TEXT)")
	mustClose(t, open(t, in("newer")))
	sqlOn(t, in("newer"), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	mustClose(t, open(t, in("one")))
	mustClose(t, open(t, in("schemaless")))
	damageLeaf(t, in("schemaless"), "goose_db_version")
	if err := errors.Join(os.Link(in("one"), in("twin")), os.Symlink("gone", in("dangling"))); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Verify(t.Context(), in("twin"))
	wantError(t, "Verify", err, "has 2 names")
	_, err = sqlite.Restore(t.Context(), in("twin"), backupOf(t, "a"), true)
	wantError(t, "Restore", err, "has 2 names")
	for _, c := range []struct {
		path, want string
		mustExist  bool
	}{
		{path: "", want: "not a file name"},
		{path: ":memory:", want: "not a file name"},
		{path: dir, want: "is not a regular file"},
		{path: in("notes"), want: "is not an SQLite database"},
		{path: in("notes/pets.db"), want: "not a directory"},
		{path: in("missing/pets.db"), want: "its folder does not exist"},
		{path: in("songs"), want: "belongs to another program and was not changed"},
		{path: in("breeds"), want: "belongs to another program and was not changed"},
		{path: in("goose"), want: "belongs to another program and was not changed"},
		{path: in("newer"), want: "its schema is at version 999 "},
		{path: in("songs-wal"), want: "a name that ends in -wal is that of a file of a store"},
		{path: in("songs-shm"), want: "a name that ends in -shm"},
		{path: in("songs-lock"), want: "a name that ends in -lock"},
		{path: in("songs-journal"), want: "a name that ends in -journal"},
		{path: in("twin"), want: "has 2 names (hard links)"},
		{path: in("dangling"), want: "is a symbolic link to nothing"},
		{path: in("schemaless"), want: "is damaged"},
		{path: in("none"), want: "there is no database at " + in("none"), mustExist: true},
		{path: in("empty"), want: "there is no database at " + in("empty"), mustExist: true},
	} {
		before, _ := os.ReadFile(c.path)
		s, err := sqlite.Open(t.Context(), c.path, sqlite.Options{MustExist: c.mustExist})
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
	entries, err := os.ReadDir("/proc/self/fd")
	for _, e := range entries {
		if name, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.HasPrefix(name, dir) {
			t.Errorf("open file: got %s (error %v), want none", name, err)
		}
	}
}

// Several processes, here stores, may open a new file at once and share it.
func TestOpenConcurrently(t *testing.T) {
	path := newPath(t)
	var stores [4]*sqlite.Store
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			var err error
			if stores[i], err = sqlite.Open(t.Context(), path, sqlite.Options{}); err != nil {
				t.Errorf("Open: got error %v", err)
				return
			}
			for range 20 {
				if _, err := stores[i].CreatePet(t.Context(), newPet("Rex")); err != nil {
					t.Errorf("CreatePet: got error %v", err)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range stores {
		if got := len(walk(t, s)); got != 80 {
			t.Errorf("got %d pets, want 80", got)
		}
		mustClose(t, s)
	}
	wantFiles(t, path, "pets.db", "pets.db-lock")
}

// replacements are mistakes that an operator may make with a store in use.
var replacements = map[string]func(path string) error{
	"all removed": func(path string) error {
		return errors.Join(os.Remove(path), os.Remove(path+"-wal"), os.Remove(path+"-shm"))
	},
	"index removed": func(path string) error { return os.Remove(path + "-shm") },
	"lock removed":  func(path string) error { return os.Remove(path + "-lock") },
	"file moved":    func(path string) error { return os.Rename(path, path+".moved") },
	"file emptied":  func(path string) error { return os.Truncate(path, 0) },
	"log removed":   func(path string) error { return os.Remove(path + "-wal") },
	"file replaced": func(path string) error {
		content, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(path+".copy", content, 0o600), os.Rename(path+".copy", path))
	},
}

func TestReplacedFile(t *testing.T) {
	for what, replace := range replacements {
		for _, ping := range []bool{false, true} {
			path := newPath(t)
			s := open(t, path)
			before := mustCreate(t, s, "before")
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			const want = "was removed or replaced while it was in use"
			if ping {
				wantError(t, what+": Ping", s.Ping(t.Context()), want)
			}
			for range 2 {
				_, err := s.CreatePet(t.Context(), newPet("after"))
				wantError(t, what+": CreatePet", err, want)
				if pets.KindOf(err) != pets.Internal {
					t.Errorf("%s: got %v, want internal", what, pets.KindOf(err))
				}
			}
			wantError(t, what+": Ping", s.Ping(t.Context()), want)
			select {
			case err := <-s.Failed():
				wantError(t, what+": Failed", err, want)
			default:
				t.Errorf("%s: got nothing from Failed, want an error", what)
			}
			if strings.HasPrefix(what, "file") { // reading must not touch the file that is there now
				var reading sync.WaitGroup
				for range 16 {
					reading.Go(func() { _, _ = s.Pets(t.Context(), pets.Query{Limit: 1}) })
				}
				reading.Wait()
			}
			mustClose(t, s)
			if what == "file moved" || what == "file emptied" {
				_, err := sqlite.Open(t.Context(), path, sqlite.Options{})
				wantError(t, what+": Open", err, "is missing or empty, but its log")
			}
			if what == "file moved" {
				if err := os.Rename(path+".moved", path); err != nil {
					t.Fatal(err)
				}
			}
			if what == "file moved" || strings.HasSuffix(what, "k removed") { // the acknowledged pet is still there
				if got := walk(t, open(t, path))[before.ID]; !reflect.DeepEqual(got, before) {
					t.Errorf("%s: got %v, want %v", what, got, before)
				}
			}
		}
	}
}

func TestLinkReplaced(t *testing.T) {
	path, other, link := newPath(t), newPath(t), newPath(t)
	mustClose(t, open(t, path))
	mustClose(t, open(t, other))
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	s := open(t, link)
	mustCreate(t, s, "before")
	wantFiles(t, link, "pets.db")
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	_, err := s.CreatePet(t.Context(), newPet("after"))
	wantError(t, "CreatePet", err, "was removed or replaced")
}

// overwrite damages a page.
func overwrite(t testing.TB, path string, page int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, 4096), (page-1)*4096)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestDamage checks that a damaged page, whether a read or a write finds it first,
// ends all writing but not the process, and that sound pages are read.
func TestDamage(t *testing.T) {
	path := newPath(t)
	s := open(t, path)
	mustCreate(t, s, "Rex")
	mustClose(t, s)
	damageLeaf(t, path, "keys")
	for what, find := range map[string]func(s *sqlite.Store) error{
		"read": func(s *sqlite.Store) error {
			_, err := s.Keys(t.Context())
			return err
		},
		"ping":  func(s *sqlite.Store) error { return s.Ping(t.Context()) },
		"write": func(s *sqlite.Store) error { return s.CreateKey(t.Context(), keys.Key{ID: "new"}) },
	} {
		var log strings.Builder
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}) // as after a restart
		if err != nil {
			t.Fatal(err)
		}
		before := metrics(t, s)["sqlite_damaged"]
		if want := pets.Unavailable; what == "read" {
			wantError(t, what, find(s), "malformed")
		} else if err := find(s); pets.KindOf(err) != want {
			t.Errorf("%s: got error %v, want %v", what, err, want)
		}
		for range 2 {
			_, err = s.CreatePet(t.Context(), newPet("late"))
			wantError(t, what+": CreatePet", err, "the database is damaged")
			if pets.KindOf(err) != pets.Unavailable {
				t.Errorf("%s: CreatePet: got error %v, want unavailable: nothing was done", what, err)
			}
			wantError(t, what+": Ping", s.Ping(t.Context()), "the database is damaged")
		}
		select {
		case err := <-s.Failed():
			t.Errorf("%s: Failed: got %v, want nothing", what, err)
		default:
		}
		if got := len(walk(t, s)); got != 1 {
			t.Errorf("%s: got %d pets, want 1", what, got)
		}
		if after := metrics(t, s)["sqlite_damaged"]; before != 0 || after != 1 {
			t.Errorf("%s: sqlite_damaged: got %v, then %v, want 0, then 1", what, before, after)
		}
		if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, `level=ERROR msg="the database is damaged" fix="run petstore verify`) {
			t.Errorf("%s: log: got %q, want one line that says what to do", what, got)
		}
		mustClose(t, s)
	}
}

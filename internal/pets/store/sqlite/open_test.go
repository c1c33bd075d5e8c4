package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
)

func TestTheFilesAreReadableByTheirOwnerAlone(t *testing.T) {
	path := freshPath(t)
	s := open(t, path)
	mustCreate(t, s, "Rex")
	for _, suffix := range []string{"", "-wal", "-shm", "-lock"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Errorf("%s: got error %v, want a file", path+suffix, err)
			continue
		}
		if got := info.Mode(); got != 0o600 {
			t.Errorf("mode of the %q file: got %v, want -rw-------", suffix, got)
		}
	}
}

func TestAnUnusualPathIsTheNameOfAFile(t *testing.T) {
	for _, name := range []string{
		"with spaces.db", "100%.db", "%41%00.db", "what?.db", "a?mode=memory", "#1.db", "a&b=c;d", "file:x", "ünï 🐈", `back\slash`, `"quotes'`, "+",
	} {
		t.Run(name, func(t *testing.T) { checkPath(t, filepath.Join(t.TempDir(), name), name) })
	}
	t.Run("relative", func(t *testing.T) {
		t.Chdir(t.TempDir())
		checkPath(t, "pets.db", "pets.db")
	})
	t.Run("with two slashes first", func(t *testing.T) {
		checkPath(t, "/"+freshPath(t), "pets.db")
	})
}

// checkPath checks that what is stored at path is there again, and that no
// other file came to be beside it.
func checkPath(t *testing.T, path, name string) {
	t.Helper()
	s := open(t, path)
	pet := mustCreate(t, s, "Rex")
	if err := s.Close(); err != nil {
		t.Errorf("closing: got error %v", err)
	}
	mustFind(t, open(t, path), pet)
	files, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatalf("reading the folder: got error %v", err)
	}
	for _, f := range files {
		if base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(f.Name(), "-wal"), "-shm"), "-lock"); base != name {
			t.Errorf("got a file %q, want none but %q", f.Name(), name)
		}
	}
}

func TestWhatCannotBeADatabaseIsRefusedInASentence(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	long := filepath.Join(folder, "long")
	for path, content := range map[string]string{text: "my notes", long: strings.Repeat("all my notes\n", 1000)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatalf("writing: got error %v", err)
		}
	}
	for _, c := range []struct{ path, want string }{
		{":memory:", "not a file name"},
		{"", "not a file name"},
		{":", "not a file name"},
		{text, "is not an SQLite database; choose another file"},
		{long, "is not an SQLite database; choose another file"},
		{filepath.Join(folder, "missing", "pets.db"), "its folder does not exist; make it with: mkdir -p " + filepath.Join(folder, "missing")},
		{folder, "is a directory"},
		{text + "/pets.db", "not a directory"},
	} {
		before, _ := os.ReadFile(c.path)
		err := openError(t, c.path)
		if !strings.Contains(err, c.want) {
			t.Errorf("opening %q: got error %q, want it to say %q", c.path, err, c.want)
		}
		if !strings.Contains(err, c.path) {
			t.Errorf("opening %q: got error %q, want it to name the path", c.path, err)
		}
		if after, _ := os.ReadFile(c.path); !bytes.Equal(before, after) {
			t.Errorf("opening %q: got the file changed, want it left alone", c.path)
		}
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	path := freshPath(t)
	s := open(t, path)
	pet := mustCreate(t, s, "Rex")
	byHand(t, path, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	const want = "its schema is at version 999 and this program knows versions up to 4; run a newer petstore"
	if got := openError(t, path); !strings.HasSuffix(got, want) {
		t.Errorf("got error %q, want one that ends in %q", got, want)
	}
	mustFind(t, s, pet)
	byHand(t, path, "DELETE FROM goose_db_version WHERE version_id = 999")
	mustFind(t, open(t, path), pet)
}

func TestARefusedDatabaseIsLetGo(t *testing.T) {
	path := freshPath(t)
	if err := open(t, path).Close(); err != nil {
		t.Fatalf("closing: got error %v", err)
	}
	byHand(t, path, "ALTER TABLE keys RENAME COLUMN hash TO sum") // so that preparing the statements fails
	if got := openError(t, path); !strings.Contains(got, "no such column: hash") && !strings.Contains(got, "no column named hash") {
		t.Errorf("got error %q, want it to say that there is no such column", got)
	}
	if got := descriptors(t, path); got != 0 {
		t.Errorf("open files of the database: got %d, want 0", got)
	}
}

func TestClosingFoldsTheLogAndLetsTheFilesGo(t *testing.T) {
	path := freshPath(t)
	s := open(t, path)
	mustCreate(t, s, "Rex")
	if err := s.Close(); err != nil {
		t.Fatalf("closing: got error %v", err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + suffix); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the %q file after closing: got error %v, want it gone", suffix, err)
		}
	}
	if got := descriptors(t, path); got != 0 {
		t.Errorf("open files of the database: got %d, want 0", got)
	}
}

// descriptors returns how many open files of this process belong to the database.
func descriptors(t *testing.T, path string) (n int) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatalf("reading the open files: got error %v", err)
	}
	for _, f := range files {
		if name, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && strings.HasPrefix(name, path) {
			n++
		}
	}
	return n
}

func openError(t *testing.T, path string) string {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err == nil {
		_ = s.Close()
		t.Fatalf("opening %q: got a store, want an error", path)
	}
	return err.Error()
}

// byHand does to the file what an operator with another tool might.
func byHand(t *testing.T, path string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatalf("opening by hand: got error %v", err)
	}
	defer db.Close()
	for _, query := range queries {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: got error %v", query, err)
		}
	}
}

func mustCreate(t *testing.T, s pets.Store, name string) pets.Pet {
	t.Helper()
	pet, err := s.CreatePet(t.Context(), pets.NewPet{Name: name, CategoryID: 1, Status: pets.Available})
	if err != nil {
		t.Fatalf("creating %.40q: got error %v, want a pet", name, err)
	}
	return pet
}

func mustFind(t *testing.T, s pets.Store, want pets.Pet) {
	t.Helper()
	if got, err := s.Pet(t.Context(), want.ID); err != nil || got != want {
		t.Errorf("pet %d: got %#v (error %v), want %#v", want.ID, got, err, want)
	}
}

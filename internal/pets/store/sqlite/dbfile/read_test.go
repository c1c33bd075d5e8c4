package dbfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"
)

// wantFiles wants these names in the folder, and no others.
func wantFiles(t *testing.T, folder, want string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != want {
		t.Errorf("files in %s: got %q, want %q", folder, got, want)
	}
}

func TestAFileWithAnOlderSchemaIsReadByACopyAndStaysAsItIs(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	file, db := madeBefore(t)
	for _, beside := range []bool{true, false} { // a server of the older program
		if !beside {
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := readAs(t.Context(), file, file, later(t, chips))
		if err != nil {
			t.Fatalf("beside a server %t: got error %v, want a copy", beside, err)
		}
		info, err := os.Stat(r.folder)
		if err != nil || filepath.Dir(r.folder) != temporary || info.Mode().Perm() != 0o700 {
			t.Errorf("the copy's folder: got %s (error %v), want one in %s for this user alone", r.folder, err, temporary)
		}
		copied := onFile(t, filepath.Join(r.folder, "copy.db"))
		mustCount(t, copied, "SELECT count(*) FROM pets WHERE name = 'Rex' AND chip = 'none'", 1)
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("closing: got error %v", err)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("beside a server %t: got the file changed (error %v), want it as it was", beside, err)
		}
		wantFiles(t, temporary, "")
	}
	mustCount(t, onFile(t, file), "SELECT max(version_id) FROM "+goose.DefaultTablename, 4)
}

func TestACopyThatCannotBeMadeIsExplainedAndLeavesNothing(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	file, _ := madeBefore(t)
	broken := later(t, map[string]string{"90001_a.sql": "INSERT INTO nowhere VALUES (1);"})
	if _, err := readAs(t.Context(), file, file, broken); err == nil || !strings.Contains(err.Error(), "a copy in "+temporary+" could not be brought up to date (TMPDIR names another folder)") {
		t.Errorf("got error %v, want one that names the folder", err)
	}
	wantFiles(t, temporary, "")
	t.Setenv("TMPDIR", filepath.Join(temporary, "missing"))
	if _, err := readAs(t.Context(), file, file, later(t, chips)); err == nil || !strings.HasSuffix(err.Error(), "no copy of it can be made: no such file or directory") {
		t.Errorf("got error %v, want that there is no such folder", err)
	}
}

func TestAFileWithoutASchemaIsNotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pets.db")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), file, file); err == nil || !strings.Contains(err.Error(), "has no schema yet; start petstore serve on it once") {
		t.Errorf("got error %v, want a refusal", err)
	}
}

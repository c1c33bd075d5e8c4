package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store"
)

// buildNextOnSQLite builds a later version of the program, whose pets have a column
// more in SQLite.
func buildNextOnSQLite(t *testing.T) (path string) {
	t.Helper()
	folder, err := filepath.Abs("../../internal/pets/store/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	columns, err := os.ReadFile(filepath.Join(folder, "columns.go"))
	if err != nil || strings.Count(string(columns), columnsOld) != 1 {
		t.Fatalf("columns.go: got no %q to replace (error %v)", columnsOld, err)
	}
	return buildWith(t, map[string]string{
		filepath.Join(folder, "columns.go"):                        strings.Replace(string(columns), columnsOld, columnsNew, 1),
		filepath.Join(folder, "dbfile/migrations/90001_chips.sql"): "-- +goose Up\nALTER TABLE pets ADD COLUMN chip TEXT NOT NULL DEFAULT 'none';\n",
	})
}

func TestALaterVersionLooksAtAFileOfThisOneAndLeavesItAsItIs(t *testing.T) {
	t.Parallel()
	next := buildNextOnSQLite(t)
	path, temporary := filepath.Join(t.TempDir(), "pets.db"), t.TempDir()
	st, err := store.Open(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.CreatePet(t.Context(), pets.NewPet{Name: "Rex", CategoryID: 7, Status: pets.Sold}); err != nil {
		t.Fatal(err)
	}
	if err := st.CreateKey(t.Context(), pets.Key{ID: "a", Name: "someone"}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), next, append(args, "--store", "sqlite:"+path)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+temporary)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: got %q (error %v), want %q in it", args, out, err, want)
		}
	}
	ask("1,Rex,7,sold", "export")
	ask("someone", "keys", "list")
	ask("schema version 4, 1 animal, 1 key", "verify")
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("got the file changed (error %v), want it as it was", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("got %v left behind (error %v), want nothing", left, err)
	}
	ask("1 animal, 1 key", "backup", path+".backup") // of the file as it is
	ask("schema version 4", "restore", "--force", path+".backup")
	ask("psk_", "keys", "create", "other")
	ask("schema version 90001", "verify")
}

//go:build unix

package upkeep_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

var rex = pets.NewPet{Name: "Rex", Status: pets.Sold}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatalf("opening %s: got error %v, want a store", path, err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func freshPath(t *testing.T) string { return filepath.Join(t.TempDir(), "pets.db") }

func mustCreate(t *testing.T, s pets.Store, name string) pets.Pet {
	t.Helper()
	pet, err := s.CreatePet(t.Context(), pets.NewPet{Name: name, CategoryID: 1, Status: pets.Available})
	if err != nil {
		t.Fatalf("creating %s: got error %v, want a pet", name, err)
	}
	return pet
}

func mustFind(t *testing.T, s pets.Store, want pets.Pet) {
	t.Helper()
	if got, err := s.Pet(t.Context(), want.ID); err != nil || got != want {
		t.Errorf("pet %d: got %#v (error %v), want %#v", want.ID, got, err, want)
	}
}

func mustBackUp(t *testing.T, path, target string) upkeep.Report {
	t.Helper()
	report, err := upkeep.Backup(t.Context(), path, target, false)
	if err != nil {
		t.Fatalf("backing up: got error %v, want a backup", err)
	}
	return report
}

func ignore(float64) {}

func mustRestore(t *testing.T, path, backup string, force bool) upkeep.Report {
	t.Helper()
	report, err := upkeep.Restore(t.Context(), path, backup, force, ignore)
	if err != nil {
		t.Fatalf("restoring: got error %v, want a store", err)
	}
	return report
}

// byHand does to the file what an operator with another tool might.
func byHand(t *testing.T, path string, queries ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, query := range queries {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: got error %v", query, err)
		}
	}
}

// wantAnimals wants the store to hold so many.
func wantAnimals(t *testing.T, path string, want int) {
	t.Helper()
	s := open(t, path)
	page, err := s.Pets(t.Context(), pets.Query{Limit: 100})
	if err := errors.Join(err, s.Close()); err != nil || len(page.Pets) != want {
		t.Errorf("%s: got %d animals (error %v), want %d", path, len(page.Pets), err, want)
	}
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

// backupOfThree returns a backup of a store with three animals, which anybody may read.
func backupOfThree(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pets.db")
	backup := filepath.Join(t.TempDir(), "backup.db")
	s := open(t, path)
	for range 3 {
		if _, err := s.CreatePet(t.Context(), rex); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := upkeep.Backup(t.Context(), path, backup, false); err != nil {
		t.Fatal(err)
	}
	mustChmod(t, filepath.Dir(filepath.Dir(backup)), 0o755)
	mustChmod(t, filepath.Dir(backup), 0o755)
	mustChmod(t, backup, 0o644)
	return backup
}

func mustChmod(t *testing.T, name string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

// giveAway has another user own the folder and its files, and takes from it the right
// to read the folder, without which a folder cannot be synced.
func giveAway(t *testing.T, folder string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		for _, e := range append([]string{""}, namesOf(entries)...) {
			if err := os.Chown(filepath.Join(folder, e), nobody, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	mustChmod(t, filepath.Dir(folder), 0o755)
	mustChmod(t, folder, 0o300)
	t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
}

func namesOf(entries []os.DirEntry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

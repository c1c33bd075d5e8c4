//go:build unix

package upkeep_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

// backupOf returns a backup of a store with one pet of that name.
func backupOf(t *testing.T, name string) (backup string, pet pets.Pet) {
	t.Helper()
	path := freshPath(t)
	backup = filepath.Join(t.TempDir(), "backup.db")
	pet = mustCreate(t, open(t, path), name)
	mustBackUp(t, path, backup)
	return backup, pet
}

// A log that is left by a kill belongs to the old file. Beside another file,
// SQLite brings it into that.
func TestTheLogOfTheOldFileDoesNotReachTheRestoredOne(t *testing.T) {
	path := freshPath(t)
	backup, pet := backupOf(t, "of the backup")
	s := open(t, path)
	if _, err := upkeep.Restore(t.Context(), path, backup, true, ignore); err == nil || !strings.Contains(err.Error(), "stop it, then restore again") {
		t.Errorf("while a server holds the store: got error %v, want it refused", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	said(t, "create and die", path)
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		t.Fatalf("the log after the kill: got error %v, want one", err)
	}
	if _, err := upkeep.Restore(t.Context(), path, backup, false, ignore); err == nil || !strings.Contains(err.Error(), "replace it with --force") {
		t.Errorf("over animals: got error %v, want it refused", err)
	}
	mustRestore(t, path, backup, true)
	wantFiles(t, filepath.Dir(path), "pets.db", "pets.db-lock")
	wantAnimals(t, path, 1)
	mustFind(t, open(t, path), pet)
}

func TestALogBesideABackupIsPartOfIt(t *testing.T) {
	source, copied, path := freshPath(t), freshPath(t), freshPath(t)
	s := open(t, source)
	pet := mustCreate(t, s, "in the log alone")
	for _, suffix := range []string{"", "-wal"} { // as an operator would copy a file that is not in use
		content, err := os.ReadFile(source + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+suffix, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustRestore(t, path, copied, false)
	mustFind(t, open(t, path), pet)
	wantFiles(t, filepath.Dir(copied), "pets.db", "pets.db-wal")
}

func TestWhatIsNoSoundBackupIsNotRestored(t *testing.T) {
	path := freshPath(t)
	pet := mustCreate(t, open(t, path), "Rex")
	damaged := freshPath(t)
	fillAndDamage(t, damaged, "pets")
	foreign, newer, empty, text := freshPath(t), freshPath(t), freshPath(t), freshPath(t)
	byHand(t, foreign, "CREATE TABLE songs (title TEXT)")
	if err := open(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	byHand(t, newer, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)")
	if err := errors.Join(os.WriteFile(empty, nil, 0o600), os.WriteFile(text, []byte("my notes"), 0o600)); err != nil {
		t.Fatal(err)
	}
	store := freshPath(t)
	mustRestore(t, store, mustCopy(t, path), false)
	before, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	for backup, want := range map[string]string{
		damaged:                      "cannot be restored, and ",
		foreign:                      "is a database of another program",
		newer:                        "run a newer petstore",
		empty:                        "is empty",
		text:                         "is not an SQLite database",
		store:                        "is the database itself",
		filepath.Join(store, "none"): "cannot read the backup",
	} {
		if _, err := upkeep.Restore(t.Context(), store, backup, true, ignore); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
		if after, err := os.ReadFile(store); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: got the store changed (error %v), want it as it was", want, err)
		}
		wantFiles(t, filepath.Dir(store), "pets.db", "pets.db-lock")
	}
	mustFind(t, open(t, store), pet)
}

func mustCopy(t *testing.T, path string) (backup string) {
	t.Helper()
	backup = filepath.Join(t.TempDir(), "backup.db")
	mustBackUp(t, path, backup)
	return backup
}

func TestADamagedStoreIsReplacedByForceAlone(t *testing.T) {
	path := freshPath(t)
	backup, pet := backupOf(t, "of the backup")
	if err := os.WriteFile(path, []byte(strings.Repeat("junk ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := upkeep.Restore(t.Context(), path, backup, false, ignore); err == nil || !strings.Contains(err.Error(), "replace it with --force") {
		t.Errorf("got error %v, want it refused", err)
	}
	mustRestore(t, path, backup, true)
	mustFind(t, open(t, path), pet)
}

func TestAStoreThatARestoreLeftAsideIsNotRemoved(t *testing.T) {
	path := freshPath(t)
	backup, _ := backupOf(t, "of the backup")
	if err := os.WriteFile(path+"-replaced", []byte("the only copy"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := upkeep.Restore(t.Context(), path, backup, true, ignore); err == nil || !strings.Contains(err.Error(), "a restore was interrupted") {
		t.Errorf("got error %v, want it refused", err)
	}
	if _, err := os.Stat(path + "-replaced"); err != nil {
		t.Errorf("got error %v, want the old database where it was", err)
	}
}

//go:build unix

package upkeep_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets/store/sqlite/dbfile"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

// overwriteHeader makes the file one that SQLite does not take for a database.
func overwriteHeader(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(strings.Repeat("junk", pageSize/4))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestTheNextBackupRemovesWhatAKilledRestoreLeft(t *testing.T) {
	folder, backup := t.TempDir(), backupOfThree(t)
	path := filepath.Join(folder, "pets.db")
	said(t, "restore and die", path, backup)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 {
		t.Fatalf("after a killed restore: got %v (error %v), want its copy and the lock", entries, err)
	}
	if _, err := upkeep.Backup(t.Context(), backup, filepath.Join(folder, "backup.db"), false); err != nil {
		t.Errorf("got error %v, want a backup", err)
	}
	wantFiles(t, folder, "backup.db", "pets.db-lock")
}

// Whatever keeps the log of the old store from being folded, the new one is in its
// place, and nothing of the old one is left.
func TestALogThatCannotBeFoldedIsNotInTheWay(t *testing.T) {
	for what, spoil := range map[string]func(path string){
		"the file is no database": func(path string) { overwriteHeader(t, path) },
		"its process ended after an I/O error": func(path string) {
			if err := dbfile.MarkFailed(path, errors.New("fsync failed")); err != nil {
				t.Fatal(err)
			}
		},
		"a shell reads it": func(path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = tx.Rollback() })
			var n int
			if err := tx.QueryRowContext(t.Context(), "SELECT count(*) FROM pets").Scan(&n); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			path, backup := filepath.Join(t.TempDir(), "pets.db"), backupOfThree(t)
			said(t, "create and die", path)
			spoil(path)
			mustRestore(t, path, backup, true)
			wantFiles(t, filepath.Dir(path), "pets.db", "pets.db-lock")
			if report, err := upkeep.Verify(t.Context(), path); err != nil || report.Err() != nil || report.Animals != 3 {
				t.Errorf("got %+v (error %v), want three animals", report, err)
			}
			wantAnimals(t, path, 3)
		})
	}
}

func TestARestoreThatCannotSyncTheFolderSaysWhichFileStands(t *testing.T) {
	backup := backupOfThree(t)
	t.Run("the new one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pets.db")
		giveAway(t, filepath.Dir(path))
		got := said(t, "restore as another user", path, backup)
		if want := path + " is the new file, and whole, but a power cut may undo that: its folder could not be synced: permission denied"; got != want {
			t.Errorf("got error %q, want %q", got, want)
		}
		mustChmod(t, filepath.Dir(path), 0o700)
		wantAnimals(t, path, 3)
	})
	t.Run("the old one", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pets.db")
		said(t, "create and die", path)
		giveAway(t, filepath.Dir(path))
		got := said(t, "restore as another user", path, backup)
		if want := path + " is as it was: permission denied"; got != want {
			t.Errorf("got error %q, want %q", got, want)
		}
		mustChmod(t, filepath.Dir(path), 0o700)
		wantFiles(t, filepath.Dir(path), "pets.db", "pets.db-lock")
		wantAnimals(t, path, 1)
	})
	t.Run("the old one, aside", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "pets.db")
		said(t, "create and die", path)
		if err := dbfile.MarkFailed(path, errors.New("fsync failed")); err != nil {
			t.Fatal(err)
		}
		log, err := os.ReadFile(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		giveAway(t, filepath.Dir(path))
		got := said(t, "restore as another user", path, backup)
		if want := "permission denied; the old database is at " + path + "-replaced"; got != want {
			t.Errorf("got error %q, want %q", got, want)
		}
		mustChmod(t, filepath.Dir(path), 0o700)
		if kept, err := os.ReadFile(path + "-replaced-wal"); err != nil || string(kept) != string(log) {
			t.Errorf("its log: got error %v, want it beside", err)
		}
		_, err = upkeep.Restore(t.Context(), path, backup, true, func(float64) {})
		if err == nil || !strings.Contains(err.Error(), "a restore was interrupted, and has kept the old database at "+path+"-replaced") {
			t.Errorf("the next restore: got error %v, want it refused", err)
		}
	})
}

func TestAStoreOnAReadOnlyFileSystemIsBackedUp(t *testing.T) {
	source, target := backupOfThree(t), t.TempDir() // the backup stands for such a store
	mustChmod(t, filepath.Dir(source), 0o555)
	t.Cleanup(func() { _ = os.Chmod(filepath.Dir(source), 0o700) })
	mustChmod(t, source, 0o444)
	mustChmod(t, filepath.Dir(target), 0o755)
	mustChmod(t, target, 0o777)
	if got := said(t, "back up as another user", source, filepath.Join(target, "backup.db")); got != "3 animals" {
		t.Errorf("got %q, want a backup of 3 animals", got)
	}
	wantAnimals(t, filepath.Join(target, "backup.db"), 3)
}

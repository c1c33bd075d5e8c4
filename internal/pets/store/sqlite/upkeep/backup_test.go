//go:build unix

package upkeep_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

func TestABackupIsWholeAndItsOwnersAlone(t *testing.T) {
	path, restored := freshPath(t), freshPath(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	s := open(t, path)
	k, _, err := pets.NewKey("someone", time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CreateKey(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	once := pets.NewPet{Name: "Rex", Status: pets.Sold, Idempotency: pets.Idempotency{KeyID: k.ID, Key: "k1"}}
	pet, err := s.CreatePet(t.Context(), once)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(t.Context()).LastBackup; !got.IsZero() {
		t.Errorf("last backup before there was one: got %v, want none", got)
	}
	began := time.Now().Truncate(time.Second)
	if report := mustBackUp(t, path, backup); report.Animals != 1 || report.Keys != 1 {
		t.Errorf("got a report of %d pets and %d keys, want 1 and 1", report.Animals, report.Keys)
	}
	if got := s.Stats(t.Context()).LastBackup; got.Before(began) || got.After(time.Now()) {
		t.Errorf("last backup: got %v, want about %v", got, began)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode() != 0o600 {
		t.Errorf("the backup: got mode %v (error %v), want -rw-------", info.Mode(), err)
	}
	wantFiles(t, filepath.Dir(backup), "backup.db")

	mustRestore(t, restored, backup, false)
	wantFiles(t, filepath.Dir(restored), "pets.db", "pets.db-lock")
	after := open(t, restored)
	if got, err := after.Key(t.Context(), k.ID); err != nil || got != k {
		t.Errorf("the key: got %v (error %v), want %v", got, err, k)
	}
	if got, err := after.CreatePet(t.Context(), once); err != nil || got != pet {
		t.Errorf("the same idempotency key: got %v (error %v), want %v", got, err, pet)
	}
}

func TestAnInterruptedBackupIsNotThere(t *testing.T) {
	folder, path := t.TempDir(), freshPath(t)
	s := open(t, path)
	if _, err := s.Load(t.Context(), func(yield func(pets.NewPet, error) bool) {
		for range 10_000 {
			if !yield(pets.NewPet{Name: strings.Repeat("x", 4000), Status: pets.Sold}, nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		for entries := []os.DirEntry{}; len(entries) == 0 && ctx.Err() == nil; { // until the copy has begun
			entries, _ = os.ReadDir(folder)
		}
		interrupt()
	}()
	if _, err := upkeep.Backup(ctx, path, filepath.Join(folder, "backup.db"), false); err == nil || ctx.Err() == nil {
		t.Errorf("got error %v, want that it was interrupted", err)
	}
	wantFiles(t, folder)
}

func TestABackupReplacesNothingThatItShouldNot(t *testing.T) {
	path, target := freshPath(t), filepath.Join(t.TempDir(), "backup.db")
	open(t, path)
	if _, err := upkeep.Backup(t.Context(), path, path, true); err == nil || !strings.Contains(err.Error(), "is the database itself") {
		t.Errorf("onto itself: got error %v, want it refused", err)
	}
	mustBackUp(t, path, target)
	if _, err := upkeep.Backup(t.Context(), path, target, false); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("onto another file: got error %v, want it refused", err)
	}
	if _, err := upkeep.Backup(t.Context(), path, target, true); err != nil {
		t.Errorf("with leave to replace it: got error %v, want a backup", err)
	}
	if err := os.WriteFile(target+"-wal", []byte("of another"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := upkeep.Backup(t.Context(), path, target, true); err == nil || !strings.Contains(err.Error(), "belongs to another database") {
		t.Errorf("beside the log of another: got error %v, want it refused", err)
	}
}

func TestADamagedDatabaseIsNotBackedUp(t *testing.T) {
	path, folder := freshPath(t), t.TempDir()
	fillAndDamage(t, path, "pets")
	_, err := upkeep.Backup(t.Context(), path, filepath.Join(folder, "backup.db"), false)
	if err == nil || !strings.Contains(err.Error(), "malformed") {
		t.Errorf("got error %v, want one that names the damage", err)
	}
	wantFiles(t, folder)
}

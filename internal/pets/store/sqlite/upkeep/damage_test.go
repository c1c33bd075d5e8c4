package upkeep_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite"
	"example.com/petstore/internal/pets/store/sqlite/upkeep"
)

const pageSize = 4096

// content returns all that is in a store, as text.
func content(ctx context.Context, path string) (string, error) {
	s, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: true})
	if err != nil {
		return "", err
	}
	animals, err := s.Pets(ctx, pets.Query{Limit: 1000})
	keys, keysErr := s.Keys(ctx)
	return fmt.Sprintln(animals, keys), errors.Join(err, keysErr, s.Close())
}

// fill makes a store with animals, keys, and pages that were used and are free.
func fill(t *testing.T, path string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		p := pets.NewPet{Name: fmt.Sprint(i, strings.Repeat("x", 90)), Status: pets.Statuses()[i%3]}
		if i%2 == 0 {
			p.Idempotency = pets.Idempotency{KeyID: "someone", Key: fmt.Sprint("request ", i)}
		}
		if _, err := s.CreatePet(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if err := s.CreateKey(t.Context(), pets.Key{ID: fmt.Sprint("key", i), Name: strings.Repeat("y", 90)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "CREATE TABLE gone AS SELECT * FROM pets; DROP TABLE gone")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// Whichever page of a store a disk has lost, there is no backup without it: either
// none is made, or the page held nothing of the store.
func TestNoBackupLacksWhatWasOnADamagedPage(t *testing.T) {
	folder := t.TempDir()
	path, damaged, backup := filepath.Join(folder, "pets.db"), filepath.Join(folder, "damaged.db"), filepath.Join(folder, "backup.db")
	fill(t, path)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := content(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for page := range len(sound) / pageSize {
		for what, with := range map[string]string{"zeros": "\x00", "rubbish": "\xa5"} {
			bytes := append([]byte{}, sound...)
			copy(bytes[page*pageSize:], strings.Repeat(with, pageSize))
			if err := os.WriteFile(damaged, bytes, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := upkeep.Backup(t.Context(), damaged, backup, true); err != nil {
				continue
			}
			made++
			got, err := content(t.Context(), backup)
			if err != nil || got != want {
				t.Errorf("page %d of %s: got a backup that lacks something (error %v), want none", page+1, what, err)
			}
		}
	}
	t.Logf("backups of %d damaged files: %d", 2*len(sound)/pageSize, made)
}

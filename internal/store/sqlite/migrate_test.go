package sqlite

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"testing"
	"testing/fstest"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// TestMigrate goes up to a second version of the schema, down and up again. Everything
// stays.
func TestMigrate(t *testing.T) {
	path, fresh := newPath(t), newPath(t)
	s := open(t, path)
	for range 100 {
		mustCreate(t, s, "Rex")
	}
	if err := s.CreateKey(t.Context(), keys.Key{ID: "abcdefgh"}); err != nil {
		t.Fatal(err)
	}
	stored := walk(t, s)
	migrate := func(path string, version, wantFrom, wantTo int64) {
		t.Helper()
		from, to, err := Migrate(t.Context(), path, version, nil)
		if err != nil || from != wantFrom || to != wantTo {
			t.Errorf("Migrate to %d: got %d, %d, error %v, want %d, %d", version, from, to, err, wantFrom, wantTo)
		}
	}
	wantSame := func(what string) {
		t.Helper()
		s := open(t, path)
		all, err := s.Keys(t.Context())
		if got := walk(t, s); !maps.EqualFunc(got, stored, func(a, b pets.Pet) bool { return reflect.DeepEqual(a, b) }) || err != nil || len(all) != 1 {
			t.Errorf("%s: got %d pets and %d keys, error %v, want them as they were", what, len(got), len(all), err)
		}
		mustClose(t, s)
	}
	t.Run("two versions", func(t *testing.T) {
		first, err := os.ReadFile("migrations/00001_schema.sql")
		if err != nil {
			t.Fatal(err)
		}
		defer func(old fs.FS) { migrations = old }(migrations)
		migrations = fstest.MapFS{
			"migrations/00001_schema.sql": {Data: first},
			"migrations/00002_colour.sql": {Data: []byte("-- +goose Up\nALTER TABLE pets ADD COLUMN colour TEXT NOT NULL DEFAULT '';\n-- +goose Down\nALTER TABLE pets DROP COLUMN colour;\n")},
		}
		migrate(path, 0, 1, 2) // while another process has it
		_, _, err = Migrate(t.Context(), path, 1, nil)
		wantError(t, "a lower version of a store in use", err, path+": a server or a command has it open")
		mustClose(t, s)
		wantSame("up")
		migrate(path, 1, 2, 1)
		r, err := OpenReader(t.Context(), path) // reads the older schema, as far as it can
		if err != nil {
			t.Fatal(err)
		}
		if all, err := r.Keys(t.Context()); err != nil || len(all) != 1 {
			t.Errorf("Keys of an older schema: got %v, error %v, want one", all, err)
		}
		_ = r.Close()
		sqlOn(t, path, "ALTER TABLE keys RENAME used_at TO later")
		if _, err := OpenReader(t.Context(), path); !errors.Is(err, store.ErrOutdated) {
			t.Errorf("OpenReader of an older schema without a column: got error %v, want ErrOutdated", err)
		}
		sqlOn(t, path, "ALTER TABLE keys RENAME later TO used_at")
		migrate(path, 2, 1, 2)
		wantSame("up again")
		for _, version := range []int64{-1, 3} {
			_, _, err := Migrate(t.Context(), path, version, nil)
			wantError(t, "another version", err, "knows the versions 1 to 2")
		}
		migrate(fresh, 1, 0, 1)
		migrate(fresh, 0, 1, 2)
	})
	_, openErr := Open(t.Context(), path, Options{})
	_, readErr := OpenReader(t.Context(), path)
	_, verifyErr := Verify(t.Context(), path)
	_, _, migrateErr := Migrate(t.Context(), path, 1, nil)
	for _, err := range []error{openErr, readErr, verifyErr, migrateErr} {
		if !errors.Is(err, store.ErrNewer) {
			t.Errorf("a newer schema: got error %v, want ErrNewer", err)
		}
	}
}

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"testing/fstest"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/store"
)

// TestMigrate goes up to a second version of the schema, down and up again. Everything
// stays.
func TestMigrate(t *testing.T) {
	first, err := os.ReadFile("migrations/00001_schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	path, fresh := newPath(t), newPath(t)
	s := open(t, path)
	stored := ledger{}
	for range 100 {
		p := mustCreate(t, s, "Rex")
		stored[p.ID] = p
	}
	if err := s.CreateKey(t.Context(), keys.Key{ID: "abcdefgh"}); err != nil {
		t.Fatal(err)
	}
	migrate := func(path string, version, wantFrom, wantTo int64) {
		t.Helper()
		from, to, err := Migrate(t.Context(), path, version, nil)
		if err != nil || from != wantFrom || to != wantTo {
			t.Errorf("Migrate to %d: got %d, %d, error %v, want %d, %d", version, from, to, err, wantFrom, wantTo)
		}
	}
	refused := func(version int64, want string) {
		t.Helper()
		_, _, err := Migrate(t.Context(), path, version, nil)
		wantError(t, fmt.Sprint("Migrate to ", version), err, want)
	}
	wantSame := func() {
		t.Helper()
		r, err := OpenReader(t.Context(), path) // reads an older schema, as far as it can
		if err != nil {
			t.Fatal(err)
		}
		all, err := r.Keys(t.Context())
		if got := petsIn(t, r.db); !reflect.DeepEqual(got, stored) || err != nil || len(all) != 1 {
			t.Errorf("got %d pets and %d keys, error %v, want them as they were", len(got), len(all), err)
		}
		_ = r.Close()
	}
	embedded := migrations
	defer func() { migrations = embedded }()
	migrations = fstest.MapFS{
		"00001_schema.sql": {Data: first},
		"00002_colour.sql": {Data: []byte("-- +goose Up\nALTER TABLE pets ADD COLUMN colour TEXT NOT NULL DEFAULT '';\n-- +goose Down\nALTER TABLE pets DROP COLUMN colour;\n")},
	}
	migrate(path, 0, 1, 2) // while another process has it
	refused(1, path+": a server or a command has it open")
	mustClose(t, s)
	wantSame()
	migrate(path, 1, 2, 1)
	wantSame()
	sqlOn(t, path, "ALTER TABLE keys RENAME used_at TO later")
	if _, err := OpenReader(t.Context(), path); !errors.Is(err, store.ErrOutdated) {
		t.Errorf("OpenReader of an older schema without a column: got error %v, want ErrOutdated", err)
	}
	sqlOn(t, path, "ALTER TABLE keys RENAME later TO used_at")
	migrate(path, 2, 1, 2)
	wantSame()
	refused(-1, "knows the versions 1 to 2")
	refused(3, "knows the versions 1 to 2")
	migrate(fresh, 1, 0, 1)
	migrate(fresh, 0, 1, 2)
	migrations = embedded
	_, openErr := Open(t.Context(), path, store.Options{})
	_, readErr := OpenReader(t.Context(), path)
	_, verifyErr := Verify(t.Context(), path)
	_, _, migrateErr := Migrate(t.Context(), path, 1, nil)
	for _, err := range []error{openErr, readErr, verifyErr, migrateErr} {
		if !errors.Is(err, store.ErrNewer) {
			t.Errorf("a newer schema: got error %v, want ErrNewer", err)
		}
	}
}

package sqlite

import (
	"errors"
	"os"
	"reflect"
	"testing"
	"testing/fstest"

	"example.com/petstore/internal/db"
)

// TestMigrate goes up to a second version of the schema. Everything stays, and a program
// that knows only the first refuses the second.
func TestMigrate(t *testing.T) {
	first, err := os.ReadFile("migrations/00001_schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	path := newPath(t)
	s := open(t, path)
	stored := ledger{}
	for range 100 {
		p := mustCreate(t, s, "Rex")
		stored[p.ID] = p
	}
	embedded := migrations
	defer func() { migrations = embedded }()
	migrations = fstest.MapFS{
		"00001_schema.sql": {Data: first},
		"00002_colour.sql": {Data: []byte("-- +goose Up\nALTER TABLE pets ADD COLUMN colour TEXT NOT NULL DEFAULT '';\n")},
	}
	for _, want := range [][2]int64{{1, 2}, {2, 2}} { // first while another process has it
		from, to, err := Migrate(t.Context(), path, nil)
		if err != nil || [2]int64{from, to} != want {
			t.Errorf("Migrate: got %d, %d, error %v, want %v", from, to, err, want)
		}
	}
	mustClose(t, s)
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if got := petsIn(t, r.db); !reflect.DeepEqual(got, stored) {
		t.Errorf("got %d pets, want them as they were", len(got))
	}
	_ = r.Close()
	migrations = embedded
	_, openErr := Open(t.Context(), path, db.Options{})
	_, readErr := OpenReader(t.Context(), path)
	_, verifyErr := Verify(t.Context(), path)
	_, _, migrateErr := Migrate(t.Context(), path, nil)
	for _, err := range []error{openErr, readErr, verifyErr, migrateErr} {
		if !errors.Is(err, db.ErrNewer) {
			t.Errorf("a newer schema: got error %v, want ErrNewer", err)
		}
	}
}

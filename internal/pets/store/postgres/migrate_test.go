//go:build postgres

package postgres

import (
	"io/fs"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/pets/store/postgres/pgtest"
	"example.com/petstore/internal/pets/store/postgres/primary"
	"example.com/petstore/internal/pets/store/schema"
)

// later is the schema of a later program: ours and these migrations.
func later(t *testing.T, more map[string]string) schema.Schema {
	t.Helper()
	files := fstest.MapFS{}
	err := fs.WalkDir(migrations, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := migrations.ReadFile(name)
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range more {
		files["migrations/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	s, err := schema.New(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var chips = map[string]string{
	"90001_chips.sql":   "-- +goose Up\nALTER TABLE pets ADD COLUMN chip text NOT NULL DEFAULT 'none';",
	"90002_by_chip.sql": "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX CONCURRENTLY pets_by_chip ON pets (chip);",
}

func connect(t *testing.T, address string) *primary.DB {
	t.Helper()
	db, err := primary.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

func wantVersions(t *testing.T, address, condition string, want int) {
	t.Helper()
	if got := pgtest.Query[int](t, address, "SELECT count(*) FROM "+goose.DefaultTablename+" WHERE "+condition); got != want {
		t.Errorf("versions with %s: got %d, want %d", condition, got, want)
	}
}

func TestManyLaterProgramsMigrateAtOnce(t *testing.T) {
	t.Parallel()
	for _, fresh := range []bool{true, false} {
		address := pgtest.Database(t)
		if !fresh {
			if err := migrate(t.Context(), connect(t, address)); err != nil {
				t.Fatal(err)
			}
		}
		var programs sync.WaitGroup
		for range 4 {
			db := connect(t, address)
			programs.Go(func() {
				if err := migrateTo(t.Context(), db, later(t, chips)); err != nil {
					t.Errorf("fresh %t: got error %v, want the database migrated", fresh, err)
				}
			})
		}
		programs.Wait()
		wantVersions(t, address, "version_id > 90000", 2)
		if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pets WHERE chip = 'none'"); n != 0 {
			t.Errorf("got %d pets, want none", n)
		}
	}
}

// Before there was one migration there were two.
func TestADatabaseThatTwoMigrationsMadeIsUsedAsItIs(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	db := connect(t, address)
	if err := migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, address, "INSERT INTO "+goose.DefaultTablename+" (version_id, is_applied) VALUES (1, true)")
	for _, program := range []schema.Schema{later(t, nil), later(t, chips)} {
		if err := migrateTo(t.Context(), db, program); err != nil {
			t.Errorf("version %d: got error %v, want the database migrated", program.Latest, err)
		}
	}
	wantVersions(t, address, "version_id IN (1, 2, 90001, 90002)", 4)
	pgtest.Exec(t, address, "DELETE FROM "+goose.DefaultTablename+" WHERE version_id > 1")
	if err := migrate(t.Context(), db); err == nil || !strings.Contains(err.Error(), "at version 1 and this program knows versions from 2") {
		t.Errorf("before the first version: got error %v, want a refusal", err)
	}
}

func TestAnOlderSchemaIsNotReadAndNotChanged(t *testing.T) {
	t.Parallel()
	address := pgtest.Database(t)
	refused := func(want string) {
		t.Helper()
		s, err := OpenReadOnly(t.Context(), address)
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want one that says %q", err, want)
		}
	}
	refused("its schema is at version 0 and this program reads version 2")
	if n := pgtest.Query[int](t, address, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("got %d tables made, want none", n)
	}
	db := connect(t, address)
	if err := migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	s, err := OpenReadOnly(t.Context(), address)
	if err != nil {
		t.Fatalf("the schema of today: got error %v, want a store", err)
	}
	if _, err := s.Keys(t.Context()); err != nil {
		t.Errorf("keys: got error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := migrateTo(t.Context(), db, later(t, chips)); err != nil {
		t.Fatal(err)
	}
	refused("run a newer petstore")
}

package dbfile

import (
	"database/sql"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

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
		files["migrations/"+name] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text)}
	}
	s, err := schema.New(files)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onFile opens the file as an operator might.
func onFile(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", Address(file, WriterPragmas))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func mustExec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: got error %v", query, err)
	}
}

func mustCount(t *testing.T, db *sql.DB, query string, want int) {
	t.Helper()
	var got int
	if err := db.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
		t.Errorf("%s: got %d (error %v), want %d", query, got, err, want)
	}
}

// madeBefore returns a database with a pet, as this program makes it.
func madeBefore(t *testing.T) (file string, db *sql.DB) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "pets.db")
	if err := Migrate(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	db = onFile(t, file)
	mustExec(t, db, "INSERT INTO pets (name, category_id, status) VALUES ('Rex', 1, 'sold')")
	return file, db
}

var chips = map[string]string{
	"90001_chips.sql":  "ALTER TABLE pets ADD COLUMN chip TEXT NOT NULL DEFAULT 'none';",
	"90002_orders.sql": "CREATE TABLE orders (id INTEGER PRIMARY KEY) STRICT;",
}

func TestALaterProgramBringsAFileUpToDateAndThisOneRefusesItThen(t *testing.T) {
	file, db := madeBefore(t)
	program := later(t, chips)
	for range 2 { // the second time there is nothing to do
		if err := migrateTo(t.Context(), file, program); err != nil {
			t.Fatalf("got error %v, want the file migrated", err)
		}
	}
	mustCount(t, db, "SELECT count(*) FROM pets WHERE name = 'Rex' AND chip = 'none'", 1)
	mustCount(t, db, "SELECT count(*) FROM orders", 0)
	mustCount(t, db, "SELECT count(*) FROM "+goose.DefaultTablename+" WHERE version_id > 90000", 2)
	mustExec(t, db, "INSERT INTO pets (name, category_id, status) VALUES ('Tom', 1, 'sold')") // as this program writes it
	if err := Migrate(t.Context(), file); err == nil || !strings.Contains(err.Error(), "at version 90002") || !strings.Contains(err.Error(), "run a newer petstore") {
		t.Errorf("this program on the later schema: got error %v, want a refusal", err)
	}
}

func TestAFreshFileGetsAllMigrations(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pets.db")
	if err := migrateTo(t.Context(), file, later(t, chips)); err != nil {
		t.Fatal(err)
	}
	mustCount(t, onFile(t, file), "SELECT count(*) FROM pets WHERE chip = ''", 0)
}

// Before there was one migration there were four.
func TestAFileThatFourMigrationsMadeIsUsedAsItIs(t *testing.T) {
	file, db := madeBefore(t)
	mustExec(t, db, "INSERT INTO "+goose.DefaultTablename+" (version_id, is_applied) VALUES (1, 1), (2, 1), (3, 1)")
	if r, err := Read(t.Context(), file, file); err != nil || r.folder != "" {
		t.Errorf("reading: got %+v (error %v), want the file itself", r, err)
	} else if err := r.Close(); err != nil {
		t.Errorf("closing: got error %v", err)
	}
	for _, program := range []schema.Schema{later(t, nil), later(t, chips)} {
		if err := migrateTo(t.Context(), file, program); err != nil {
			t.Errorf("version %d: got error %v, want the file migrated", program.Latest, err)
		}
	}
	mustCount(t, db, "SELECT count(*) FROM pets WHERE chip = 'none'", 1)
}

func TestAVersionBeforeTheFirstIsRefused(t *testing.T) {
	file, db := madeBefore(t)
	mustExec(t, db, "UPDATE "+goose.DefaultTablename+" SET version_id = 3 WHERE version_id = 4")
	if err := Migrate(t.Context(), file); err == nil || !strings.Contains(err.Error(), "at version 3 and this program knows versions from 4") {
		t.Errorf("got error %v, want a refusal", err)
	}
	mustCount(t, db, "SELECT count(*) FROM pets", 1)
}

func TestAMigrationThatFailsLeavesTheVersionBefore(t *testing.T) {
	file, db := madeBefore(t)
	broken := later(t, map[string]string{"90001_a.sql": chips["90001_chips.sql"], "90002_b.sql": "CREATE TABLE orders (id INTEGER);\nINSERT INTO nowhere VALUES (1);"})
	if err := migrateTo(t.Context(), file, broken); err == nil || !strings.Contains(err.Error(), "migration failed: ") {
		t.Errorf("got error %v, want one of the migration", err)
	}
	mustCount(t, db, "SELECT max(version_id) FROM "+goose.DefaultTablename, 90001)
	mustCount(t, db, "SELECT count(*) FROM sqlite_schema WHERE name = 'orders'", 0)
	if err := migrateTo(t.Context(), file, later(t, chips)); err != nil {
		t.Errorf("once it is mended: got error %v, want the file migrated", err)
	}
}

func TestManyProgramsMigrateAtOnce(t *testing.T) {
	for _, fresh := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "pets.db")
		if !fresh {
			file, _ = madeBefore(t)
		}
		var programs sync.WaitGroup
		for range 8 {
			programs.Go(func() {
				if err := migrateTo(t.Context(), file, later(t, chips)); err != nil {
					t.Errorf("fresh %t: got error %v, want the file migrated", fresh, err)
				}
			})
		}
		programs.Wait()
		mustCount(t, onFile(t, file), "SELECT count(*) FROM "+goose.DefaultTablename+" WHERE version_id > 90000", 2)
	}
}

package postgres

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	excused     = regexp.MustCompile(`^breaks nothing: \S`)
	createTable = regexp.MustCompile(`^CREATE TABLE (?:IF NOT EXISTS )?(\S+) \(`)
	createIndex = regexp.MustCompile(`^CREATE INDEX (CONCURRENTLY )?.*?ON (\S+)`)
	addColumns  = regexp.MustCompile(`^ALTER TABLE \S+ (ADD COLUMN .*)`)
)

// breaking returns the statements of a migration that an older replica at work
// beside it may not survive. It leaves out the statements known to be harmless, and
// those with a comment above that says why they are: "-- breaks nothing: …".
func breaking(migration string) (statements []string) {
	var fresh []string // tables that no older replica knows
	for _, statement := range sqlStatements(migration) {
		plain := statement.text
		if slices.ContainsFunc(statement.comments, excused.MatchString) {
			continue
		}
		harmless := false
		if m := createTable.FindStringSubmatch(plain); m != nil {
			harmless, fresh = true, append(fresh, m[1])
		} else if m := createIndex.FindStringSubmatch(plain); m != nil {
			// Any other way of building it keeps writes waiting.
			harmless = m[1] != "" || slices.Contains(fresh, m[2])
		} else if m := addColumns.FindStringSubmatch(plain); m != nil {
			harmless = addsHarmlessly(m[1])
		}
		if !harmless {
			statements = append(statements, plain)
		}
	}
	return statements
}

var (
	brackets  = regexp.MustCompile(`\([^()]*\)`)
	constrain = regexp.MustCompile(`UNIQUE|PRIMARY KEY|CHECK|EXCLUDE`)
)

// addsHarmlessly reports whether every part of an ALTER TABLE adds a column that
// older statements need not name.
func addsHarmlessly(parts string) bool {
	for brackets.MatchString(parts) {
		parts = brackets.ReplaceAllString(parts, "")
	}
	for part := range strings.SplitSeq(parts, ",") {
		filled := strings.Contains(part, "DEFAULT ") || strings.Contains(part, "GENERATED ")
		if !strings.HasPrefix(strings.TrimSpace(part), "ADD COLUMN ") || constrain.MatchString(part) ||
			strings.Contains(part, "NOT NULL") && !filled {
			return false
		}
	}
	return true
}

func TestNoMigrationBreaksTheVersionBefore(t *testing.T) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("migrations: got %v (error %v), want some", names, err)
	}
	for _, name := range names[1:] { // before the first there was nothing
		text, err := migrations.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range breaking(string(text)) {
			t.Errorf("%s: older replicas may not survive %q; add only tables, nullable or defaulted columns, and indexes CONCURRENTLY, or say above it why it does no harm: -- breaks nothing: …", name, statement)
		}
	}
}

func TestWhatBreaksTheVersionBeforeIsFound(t *testing.T) {
	for statement, breaks := range map[string]bool{
		"CREATE TABLE orders (id bigint PRIMARY KEY, pet bigint NOT NULL)":                                         false,
		"create table if not exists orders (id bigint); create index orders_by_id on orders (id)":                  false,
		"CREATE INDEX CONCURRENTLY pets_by_name ON pets (name)":                                                    false,
		"ALTER TABLE pets ADD COLUMN weight bigint":                                                                false,
		"ALTER TABLE pets\n  ADD COLUMN weight numeric(5,2), -- kg\n  ADD COLUMN chip text NOT NULL DEFAULT 'a,b'": false,
		"-- breaks nothing: no version since 3 names it\nALTER TABLE pets DROP COLUMN weight":                      false,
		"SELECT 1;\n-- +goose Down\nDROP TABLE pets":                                                               true, // SELECT
		"ALTER TABLE pets ADD COLUMN weight bigint;\n-- +goose Down\nDROP TABLE pets":                              false,

		// Comments and literals.
		"ALTER TABLE pets ADD COLUMN a text DEFAULT '--', DROP COLUMN name":                   true,
		"ALTER TABLE pets ADD COLUMN a text DEFAULT ';'":                                      false,
		"ALTER TABLE pets ADD COLUMN a text; -- one; two":                                     false,
		"DROP TABLE pets -- a; CREATE TABLE b (":                                              true,
		"/* ; */ DROP TABLE pets":                                                             true,
		"SELECT '\n-- breaks nothing: of a literal\n'":                                        true,
		"CREATE TABLE notes (\"a;b\" text)":                                                   false,
		"ALTER TABLE pets ADD COLUMN a text NOT NULL /* DEFAULT 'x' */":                       true,
		"ALTER TABLE pets ADD COLUMN a text DEFAULT $$,DROP COLUMN$$, ADD COLUMN b text":      false,
		"ALTER TABLE pets ADD COLUMN a text DEFAULT ')', DROP COLUMN name, ADD COLUMN b text": true,

		"DROP TABLE keys":                                                true,
		"drop index pets_by_status":                                      true,
		"ALTER TABLE pets DROP COLUMN name":                              true,
		"ALTER TABLE pets RENAME COLUMN name TO n":                       true,
		"ALTER TABLE pets RENAME TO animals":                             true,
		"ALTER TABLE pets ALTER COLUMN category_id TYPE integer":         true,
		"ALTER TABLE pets ALTER COLUMN key_id SET NOT NULL":              true,
		"ALTER TABLE pets ADD COLUMN weight bigint NOT NULL":             true,
		"ALTER TABLE pets ADD COLUMN a text, ADD COLUMN b text NOT NULL": true,
		"ALTER TABLE pets ADD COLUMN a text, DROP COLUMN name":           true,
		"ALTER TABLE pets ADD COLUMN a text DEFAULT 'x' UNIQUE":          true,
		"ALTER TABLE pets ADD CONSTRAINT c CHECK (name <> '')":           true,
		"CREATE INDEX pets_by_name ON pets (name)":                       true,
		"CREATE UNIQUE INDEX CONCURRENTLY pets_by_name ON pets (name)":   true,
		"TRUNCATE pets":                  true,
		"UPDATE pets SET status = 'new'": true,
		"ALTER TABLE pets ADD COLUMN weight bigint; DROP TABLE keys": true,
	} {
		if got := len(breaking("-- +goose Up\n"+statement+";\n")) > 0; got != breaks {
			t.Errorf("%s: got breaking %t, want %t", statement, got, breaks)
		}
	}
}

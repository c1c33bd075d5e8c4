package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Report describes a database that was read in full.
type Report struct {
	Path     string   `json:"file,omitempty"` // the backup that was written or restored
	Schema   int64    `json:"schemaVersion"`
	Pets     int64    `json:"pets"` // 0 if there are problems
	Keys     int64    `json:"keys"` // 0 if there are problems
	Bytes    int64    `json:"bytes"`
	Problems []string `json:"problems"` // SQLite's descriptions of the damage
}

// Verify reads the whole database at path, even while servers use it, and changes
// no pets or keys. If there is damage, the error and the Report describe it.
func Verify(ctx context.Context, path string) (r Report, err error) {
	err = withSource(path, func(db *sql.DB) error {
		r, err = inspect(ctx, db)
		return err
	})
	return r, err
}

// withSource calls f with a connection to the database at path.
func withSource(path string, f func(*sql.DB) error) error {
	file, err := resolve(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w at %s", ErrNoDatabase, path)
	}
	if err := cmp.Or(checkNames(file), checkLog(file)); err != nil {
		return explain(path, err)
	}
	return withDB(path, file, f)
}

// withDB calls f with a connection to the file and closes it. Errors name path.
func withDB(path, file string, f func(*sql.DB) error) error {
	db := connect(file, writerPragmas)
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(new(int)); err != nil {
		return explain(path, err)
	}
	err := f(db)
	if isCorrupt(err) {
		err = fmt.Errorf("%w: %w", ErrDamagedPage, err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

const countAll = "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM keys)"

// inspect reads the whole database and reports on it.
func inspect(ctx context.Context, db *sql.DB) (r Report, err error) {
	r.Schema, err = schemaVersion(ctx, db)
	switch {
	case isCorrupt(err):
		r.Problems = append(r.Problems, err.Error())
	case err != nil:
		return r, err
	case r.Schema == 0:
		return r, errors.New("the database is empty: it has no schema")
	}
	if err := db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&r.Bytes); err != nil {
		return r, err
	}
	problems, err := findProblems(ctx, db)
	if err != nil {
		return r, err
	}
	if r.Problems = slices.Compact(append(problems, r.Problems...)); len(r.Problems) > 0 {
		return r, fmt.Errorf("it %w:\n%s", ErrDamaged, strings.Join(r.Problems, "\n"))
	}
	return r, db.QueryRowContext(ctx, countAll).Scan(&r.Pets, &r.Keys)
}

// integrityCheck runs SQLite's check, and names the tables and indexes that are trees
// with a number in its descriptions of the damage.
const integrityCheck = `SELECT integrity_check || coalesce((
	SELECT ' (' || group_concat(type || ' ' || name, ', ') || ')' FROM sqlite_schema WHERE integrity_check LIKE '%Tree ' || rootpage || ' %'
), '') FROM pragma_integrity_check WHERE integrity_check <> 'ok'`

// findProblems returns SQLite's descriptions of the damage.
func findProblems(ctx context.Context, db *sql.DB) (problems []string, err error) {
	rows, err := db.QueryContext(ctx, integrityCheck)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var found string
		if err := rows.Scan(&found); err != nil {
			return nil, err
		}
		problems = append(problems, strings.Split(found, "\n")...)
	}
	if err = rows.Err(); isCorrupt(err) { // SQLite cannot read on
		problems, err = append(problems, err.Error()), nil
	}
	return problems, err
}

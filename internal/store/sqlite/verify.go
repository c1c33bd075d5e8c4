package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Report describes a database that was read in full.
type Report struct {
	Path                      string // the backup that was written or restored
	Schema, Pets, Keys, Bytes int64
}

// Verify reads the whole database at path, even while servers use it, and changes
// no pets or keys. The error describes all damage.
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

// inspect reads the whole database and reports on it.
func inspect(ctx context.Context, db *sql.DB) (r Report, err error) {
	if err := checkIntegrity(ctx, db); err != nil {
		return r, err
	}
	if r.Schema, err = schemaVersion(ctx, db); err != nil {
		return r, err
	}
	if r.Schema == 0 {
		return r, errors.New("the database is empty: it has no schema")
	}
	return r, db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM keys), page_count * page_size
		FROM pragma_page_count, pragma_page_size`).Scan(&r.Pets, &r.Keys, &r.Bytes)
}

// integrityCheck runs SQLite's check, and names the tables and indexes that are trees
// with a number in its descriptions of the damage.
const integrityCheck = `SELECT integrity_check || coalesce((
	SELECT ' (' || group_concat(type || ' ' || name, ', ') || ')' FROM sqlite_schema WHERE integrity_check LIKE '%Tree ' || rootpage || ' %'
), '') FROM pragma_integrity_check WHERE integrity_check <> 'ok'`

// checkIntegrity returns an error that describes all damage.
func checkIntegrity(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, integrityCheck)
	problems, err := collect(rows, err, func(row scanner, problem *string) error { return row.Scan(problem) })
	if len(problems) > 0 { // SQLite may be unable to read on
		return fmt.Errorf("it %w:\n%s", ErrDamaged, strings.Join(problems, "\n"))
	}
	return err
}

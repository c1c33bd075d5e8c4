package upkeep

import (
	"context"
	"database/sql"
	"errors"

	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// Report is the result of reading all of a database.
type Report struct {
	Schema   int64    // the version of its schema
	Animals  int64    // how many it holds, 0 where it is damaged
	Keys     int64    // likewise
	Bytes    int64    // the size of the file, without its log
	Problems []string // SQLite's own words for the damage, at most 100
}

// Err returns an error that names the damage, or nil.
func (r Report) Err() error {
	var errs []error
	for _, problem := range r.Problems {
		errs = append(errs, errors.New(problem))
	}
	return errors.Join(errs...)
}

// Verify reads all of the database at path, and changes nothing. It reports whether
// SQLite finds the database sound, whether this program knows its schema, and how
// many animals and keys it has. It runs beside servers. Damage is in the report, and
// not an error.
func Verify(ctx context.Context, path string) (Report, error) {
	file, err := dbfile.Find(path)
	if err != nil {
		return Report{}, err
	}
	address, err := dbfile.ReadingAddress(path, file)
	if err != nil {
		return Report{}, err
	}
	defer dbfile.TryShare(file).Close()
	report, err := inspect(ctx, address)
	if err != nil {
		err = dbfile.Explain(path, err)
	}
	return report, err
}

// inspect looks at all of the database at the driver's address.
func inspect(ctx context.Context, address string) (r Report, err error) {
	err = dbfile.With(address, func(db *sql.DB) error { return r.read(ctx, db) })
	return r, err
}

func (r *Report) read(ctx context.Context, db *sql.DB) (err error) {
	if err := dbfile.CheckOwner(ctx, db); err != nil {
		return err
	}
	if r.Schema, err = dbfile.Version(ctx, db); err != nil {
		return err
	}
	if r.Schema == 0 {
		return errors.New("there is nothing in it, not even a schema")
	}
	if err := db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&r.Bytes); err != nil {
		return err
	}
	if r.Problems, err = integrity(ctx, db); err != nil || len(r.Problems) > 0 {
		return err
	}
	return db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM keys)").Scan(&r.Animals, &r.Keys)
}

// integrity returns the faults that SQLite finds.
func integrity(ctx context.Context, db *sql.DB) (problems []string, err error) {
	rows, err := db.QueryContext(ctx, "PRAGMA integrity_check")
	if err != nil {
		return corruptionIn(nil, err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return corruptionIn(problems, err)
		}
		if line != "ok" {
			problems = append(problems, line)
		}
	}
	return corruptionIn(problems, rows.Err())
}

// corruptionIn adds an error to the problems where it is one of them.
func corruptionIn(problems []string, err error) ([]string, error) {
	if dbfile.IsCorrupt(err) {
		return append(problems, err.Error()), nil
	}
	return problems, err
}

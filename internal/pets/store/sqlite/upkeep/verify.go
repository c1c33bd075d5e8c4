package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// Report is the result of reading all of a database.
type Report struct {
	Schema     int64    // the version of its schema
	Pets, Keys int64    // how many can be read
	Bytes      int64    // the size of the file, without its log
	Problems   []string // SQLite's own words for the damage, at most 100
	Unreadable []Range  // the pets that cannot be read
}

// Range is a run of identifiers. Not all of them need to be in use.
type Range struct{ First, Last int64 }

func (r Range) String() string {
	switch {
	case r.Last == pets.MaxID:
		return fmt.Sprintf("%d and all after it", r.First)
	case r.First == r.Last:
		return fmt.Sprint(r.First)
	}
	return fmt.Sprintf("%d to %d", r.First, r.Last)
}

// Err returns an error that names the damage, or nil.
func (r Report) Err() error {
	if len(r.Problems) == 0 && len(r.Unreadable) == 0 {
		return nil
	}
	var errs []error
	for _, ids := range r.Unreadable {
		errs = append(errs, fmt.Errorf("animals that cannot be read: %v", ids))
	}
	for _, problem := range r.Problems {
		errs = append(errs, errors.New(problem))
	}
	return errors.Join(errs...)
}

// Verify reads all of the database at path, and changes nothing. It finds out whether
// SQLite finds the database sound, whether this program knows its schema, and how
// many animals and keys it has. It runs beside servers. The report names damage, and
// the error is nil then.
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
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return Report{}, err
	}
	db.SetMaxOpenConns(1)
	report, err := inspect(ctx, db)
	if err != nil {
		err = dbfile.Explain(path, err)
	}
	return report, errors.Join(err, db.Close())
}

// inspect looks at all that the one connection of db leads to.
func inspect(ctx context.Context, db *sql.DB) (r Report, err error) {
	if err := dbfile.CheckOwner(ctx, db); err != nil {
		return r, err
	}
	if r.Schema, err = dbfile.Version(ctx, db); err != nil {
		return r, err
	}
	if r.Schema == 0 {
		return r, errors.New("there is nothing in it, not even a schema")
	}
	if err := db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&r.Bytes); err != nil {
		return r, err
	}
	if r.Problems, err = integrity(ctx, db); err != nil {
		return r, err
	}
	if len(r.Problems) > 0 {
		if r.Pets, r.Unreadable, err = readablePets(ctx, db); err != nil {
			return r, err
		}
	} else if err := db.QueryRowContext(ctx, "SELECT count(*) FROM pets").Scan(&r.Pets); err != nil {
		return r, err
	}
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM keys").Scan(&r.Keys); err != nil && !dbfile.IsCorrupt(err) {
		return r, err
	}
	return r, nil
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

// readablePets counts the pets, walking past each place where they cannot be
// read.
func readablePets(ctx context.Context, db *sql.DB) (animals int64, gaps []Range, err error) {
	for next := int64(1); ; {
		last, n, err := readPetsFrom(ctx, db, next, -1)
		animals += n
		if err == nil {
			return animals, gaps, nil
		}
		if !dbfile.IsCorrupt(err) {
			return animals, gaps, err
		}
		first := max(next, last+1)
		if next, err = nextReadable(ctx, db, first); err != nil {
			return animals, gaps, err
		}
		gaps = append(gaps, Range{First: first, Last: next - 1})
		if next > pets.MaxID {
			return animals, gaps, nil
		}
	}
}

// nextReadable returns the first identifier after the unreadable one from which
// pets can be read, or pets.MaxID+1. It doubles its steps, and then halves the
// distance between the last that failed and the first that did not.
func nextReadable(ctx context.Context, db *sql.DB, unreadable int64) (int64, error) {
	readable := func(id int64) (bool, error) {
		_, _, err := readPetsFrom(ctx, db, id, 1)
		if err != nil && !dbfile.IsCorrupt(err) {
			return false, err
		}
		return err == nil, nil
	}
	low, high := unreadable, int64(math.MaxInt64)
	for step := int64(1); low+step <= pets.MaxID; step *= 2 {
		ok, err := readable(low + step)
		if err != nil {
			return 0, err
		}
		if ok {
			high = low + step
			break
		}
		low += step
	}
	if high > pets.MaxID {
		return pets.MaxID + 1, nil
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		ok, err := readable(middle)
		switch {
		case err != nil:
			return 0, err
		case ok:
			high = middle
		default:
			low = middle
		}
	}
	return high, nil
}

// readPetsFrom reads at most so many pets with that identifier or a greater
// one, -1 for all. It returns the last that it read and how many they were.
func readPetsFrom(ctx context.Context, db *sql.DB, first int64, most int) (last, n int64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT id, name, category_id, status FROM pets NOT INDEXED WHERE id >= ? ORDER BY id LIMIT ?", first, most)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var p pets.Pet
		if err := rows.Scan(&p.ID, &p.Name, &p.CategoryID, &p.Status); err != nil {
			return last, n, err
		}
		last = p.ID
	}
	return last, n, rows.Err()
}

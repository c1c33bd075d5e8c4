package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"example.com/petstore/internal/pets/store/sqlite"
)

// rarePets is how many pets have the status pending, in either database: one in
// a million of the large one, spread evenly.
const rarePets = 10

// fill makes a database of so many pets, unless it is there already. The
// service makes the schema; SQLite makes the rows, since creating them through
// the service would take a quarter of an hour.
func fill(ctx context.Context, path string, pets int) (err error) {
	st, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	if err := st.Close(); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var there int
	if err := db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM pets").Scan(&there); err != nil {
		return err
	}
	const chunk = 200_000
	start := time.Now()
	for from := there; from < pets; from += chunk {
		_, err := db.ExecContext(ctx, `
			WITH RECURSIVE n(i) AS (SELECT ?1 + 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
			INSERT INTO pets (name, category_id, status)
			SELECT 'Frank ' || i, i % 5, CASE WHEN i % ?3 = 0 THEN 'pending' WHEN i % 2 = 0 THEN 'sold' ELSE 'available' END FROM n`,
			from, min(from+chunk, pets), pets/rarePets)
		if err != nil {
			return err
		}
		done := min(from+chunk, pets)
		left := time.Duration(float64(time.Since(start)) / float64(done-there) * float64(pets-done))
		fmt.Fprintf(os.Stderr, "\rfilling: %d of %d pets, %v left    ", done, pets, left.Round(time.Second))
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// Package schema says which versions of a database a program knows, by its
// migrations, and which version a database has. It runs no migration.
package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Schema is the migrations of a program. The first makes the whole schema as it was
// then, and a database may be at any version from there on.
type Schema struct {
	Files         fs.FS // 00004_schema.sql, and later ones
	First, Latest int64 // versions
}

// New returns the schema by the migrations in the folder "migrations" of files.
func New(files fs.FS) (Schema, error) {
	folder, err := fs.Sub(files, "migrations")
	if err != nil {
		return Schema{}, err
	}
	names, err := fs.Glob(folder, "*.sql") // sorted
	if err != nil || len(names) == 0 {
		return Schema{}, errors.Join(errors.New("there are no migrations"), err)
	}
	first, err := goose.NumericComponent(names[0])
	if err != nil {
		return Schema{}, err
	}
	latest, err := goose.NumericComponent(names[len(names)-1])
	return Schema{Files: folder, First: first, Latest: latest}, err
}

// Version returns the version of a database's schema, 0 where it has none. The query
// hasTable tells whether the database has a table of a name. Version refuses a version
// that the program does not know.
func (s Schema) Version(ctx context.Context, db *sql.DB, hasTable string) (version int64, err error) {
	var found bool
	err = db.QueryRowContext(ctx, hasTable, goose.DefaultTablename).Scan(&found)
	if err != nil || !found {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename).Scan(&version)
	switch {
	case err != nil:
		return 0, err
	case version > s.Latest:
		err = fmt.Errorf("its schema is at version %d and this program knows versions up to %d; run a newer petstore", version, s.Latest)
	case version > 0 && version < s.First:
		err = fmt.Errorf("its schema is at version %d and this program knows versions from %d; run an older petstore", version, s.First)
	}
	return version, err
}

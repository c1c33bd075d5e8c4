// Package schema says which versions of a database a program knows, by its
// migrations. It runs none of them.
package schema

import (
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

// Check returns an error where the program does not know the version of a database;
// 0 is that of an empty one.
func (s Schema) Check(version int64) error {
	switch {
	case version > s.Latest:
		return fmt.Errorf("its schema is at version %d and this program knows versions up to %d; run a newer petstore", version, s.Latest)
	case version > 0 && version < s.First:
		return fmt.Errorf("its schema is at version %d and this program knows versions from %d; run an older petstore", version, s.First)
	}
	return nil
}

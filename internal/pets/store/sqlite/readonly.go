package sqlite

import (
	"context"
	"errors"

	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// openReadOnly opens a database that nothing is to be written to.
func openReadOnly(ctx context.Context, path, file string) (*Store, error) {
	reading, err := dbfile.Read(ctx, path, file)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, held: reading}
	if err := s.openReaders(ctx, reading.Address); err != nil {
		return nil, errors.Join(dbfile.Explain(path, err), s.closeDatabases(), reading.Close())
	}
	return s, nil
}

package sqlite

import (
	"context"
	"errors"

	"example.com/petstore/internal/pets/store/sqlite/dbfile"
)

// openReadOnly opens a database that nothing is to be written to.
func openReadOnly(ctx context.Context, path, file string) (*Store, error) {
	address, err := dbfile.ReadingAddress(path, file)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, lock: dbfile.TryShare(file)}
	err = dbfile.CheckSchema(ctx, address)
	if err == nil {
		if err = s.openReaders(ctx, address); err != nil {
			err = errors.Join(err, s.closeDatabases())
		}
	}
	if err != nil {
		return nil, errors.Join(dbfile.Explain(path, err), s.lock.Close())
	}
	return s, nil
}

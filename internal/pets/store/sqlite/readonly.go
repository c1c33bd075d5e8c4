package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// openReadOnly opens a database that nothing is to be written to.
func openReadOnly(ctx context.Context, path, file string) (*Store, error) {
	address, err := readingAddress(path, file)
	if err != nil {
		return nil, err
	}
	s := &Store{file: file, lock: tryShareLock(file)}
	err = checkSchema(ctx, address)
	if err == nil {
		if err = s.openReaders(ctx, address); err != nil {
			err = errors.Join(err, s.closeDatabases())
		}
	}
	if err != nil {
		return nil, errors.Join(explainOpen(path, err), s.lock.Close())
	}
	return s, nil
}

// readingAddress returns the driver's address of a file that is only read. Where this
// user may write to the file, the connections only promise to write nothing: SQLite
// needs its other files to read beside a server, and removes them in the end. Else, as
// on a read-only file system, there can be no server and no log beside the file.
func readingAddress(path, file string) (string, error) {
	if checkWritable(file) == nil {
		return dsn(file, readerPragmas) + "&mode=rw", nil
	}
	if err := checkStill(file); err != nil {
		return "", fmt.Errorf("cannot read %s: %w", path, err)
	}
	return dsn(file, readerPragmas) + "&mode=ro&immutable=1", nil
}

// checkStill returns an error where the file alone is not all of the database,
// or may change while it is read.
func checkStill(file string) error {
	if info, err := os.Stat(file + logSuffix); err == nil && info.Size() > 0 {
		return fmt.Errorf("its newest part is in %s, and neither may be written by this user; copy both into a folder of your own and read the copy", file+logSuffix)
	}
	if used, err := InUse(file); err != nil || used {
		return errors.Join(errors.New("a server holds it, and this user may not write to it; run this as the server's user"), err)
	}
	return nil
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"syscall"

	"example.com/petstore/internal/db"
	lib "modernc.org/sqlite/lib"
)

// Read calls f with a connection to the database at path, which it opens as it is: in use,
// at rest, left by a killed process, or a backup. It changes neither the database nor its
// log. Beside a database at rest that is no backup, SQLite leaves an empty log and index.
//
// A process that has the database open as a DB should not call Read, which opens and closes
// the file: that releases the locks of SQLite in this process, and others could then
// replace the file.
func (s *Schema) Read(ctx context.Context, path string, f func(Conn) error) error {
	source, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	defer source.Close()
	version, err := s.version(ctx, source.DB)
	if err != nil {
		return explain(path, err)
	}
	if version == 0 {
		return explain(path, fmt.Errorf("%w at %s", db.ErrNone, source.file))
	}
	conn, err := s.prepare(ctx, source.DB, toRead)
	if err != nil && version < s.newest() {
		err = db.ErrOutdated
	}
	if err == nil {
		err = f(conn)
	}
	return explain(path, err)
}

// source is a connection that reads a file as it is.
type source struct {
	*sql.DB
	file string // without symbolic links
}

// openFile opens the file at path, whatever its schema.
func openFile(ctx context.Context, path string) (s source, err error) {
	file, err := resolve(path)
	if err != nil {
		return s, err
	}
	if err := checkReadable(file); err != nil {
		return s, explain(path, err)
	}
	s = source{connect(file, toRead), file}
	if err := s.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(new(int)); err != nil {
		if hasCode(err, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY) {
			err = errors.New("permission denied, or no files can be made beside it; copy it, with its log (" +
				logSuffix + ") if it has one, to a folder that can be written")
		}
		return s, explain(path, errors.Join(err, s.Close()))
	}
	return s, nil
}

// checkReadable rejects a file that this process cannot read without harm. What SQLite
// makes beside a file would be closed to its owner if it were another account's. A backup
// has nothing beside it.
func checkReadable(file string) error {
	err := checkFile(file)
	if isBackup(file) && (err == nil || errors.Is(err, errMounted)) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; int(owner) != os.Geteuid() {
		return fmt.Errorf("it belongs to another account, which could not open what this one leaves beside it; "+
			"run this as the account with the number %d, or read a backup", owner)
	}
	return nil
}

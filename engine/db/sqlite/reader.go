package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"syscall"

	"example.com/petstore/engine/db"
)

// Read calls f with a connection to the database at path, which it opens as it is: in use,
// at rest, left by a killed process, or a backup. It changes neither the database nor its log,
// but may leave an empty one. A process that has the database open as a DB should not call it:
// closing the file releases SQLite's locks in this process.
func (s *Schema) Read(ctx context.Context, path string, f func(Conn) error) error {
	source, err := openFile(ctx, path)
	if err != nil {
		return err
	}
	defer source.Close()
	version, err := s.version(ctx, source)
	if err != nil {
		return explain(path, err)
	}
	conn, err := s.prepare(ctx, source, toRead)
	if err != nil && version < s.newest() {
		err = db.ErrOutdated
	}
	if err == nil {
		err = f(conn)
	}
	return explain(path, err)
}

// openFile opens the file at path as it is, whatever its schema.
func openFile(ctx context.Context, path string) (*sql.DB, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if err := checkReadable(file); err != nil {
		return nil, explain(path, err)
	}
	conn := connect(file, toRead)
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(new(int)); err != nil {
		return nil, explain(path, errors.Join(err, conn.Close()))
	}
	return conn, nil
}

// checkReadable rejects a file of another account, unless it is a backup: SQLite may leave files
// beside it, which its owner could not open.
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
		advice := fmt.Sprintf("run this as the account with the number %d", owner)
		if owner == 0 {
			advice = "if the store is not root's, chown it"
		}
		return fmt.Errorf("it belongs to another account, which could not open what this one leaves beside it; "+
			"%s, or read a backup", advice)
	}
	return nil
}

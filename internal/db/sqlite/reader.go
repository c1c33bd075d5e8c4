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

// Reader reads a database as it is: in use, at rest, left by a killed process, or a
// backup. It changes neither the database nor its log. Beside a database at rest that is
// no backup, SQLite leaves an empty log and index.
type Reader struct {
	file string
	db   *sql.DB
	conn Conn
}

// OpenReader opens the database at path as it is. A process that has it open as a DB loses
// SQLite's lock on the file by that, so that others could replace it.
func OpenReader(ctx context.Context, path string, schema Schema) (*Reader, error) {
	r, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, schema); err != nil {
		return nil, explain(path, errors.Join(err, r.Close()))
	}
	return r, nil
}

// prepare prepares the statements of the schema, which the database must have.
func (r *Reader) prepare(ctx context.Context, schema Schema) error {
	version, err := schema.version(ctx, r.db)
	if err != nil {
		return err
	}
	if version == 0 {
		return fmt.Errorf("%w at %s", db.ErrNone, r.file)
	}
	r.conn, err = schema.prepare(ctx, r.db, asItIs)
	if err != nil && version < schema.newest() {
		return db.ErrOutdated
	}
	return err
}

// openFile opens the file at path, whatever its schema.
func openFile(ctx context.Context, path string) (*Reader, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if err := checkReadable(file); err != nil {
		return nil, explain(path, err)
	}
	r := &Reader{file: file, db: connect(file, asItIs)}
	if err := r.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(new(int)); err != nil {
		if hasCode(err, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY) {
			err = errors.New("permission denied, or no files can be made beside it; copy it, with its log (" +
				logSuffix + ") if it has one, to a folder that can be written")
		}
		return nil, explain(path, errors.Join(err, r.Close()))
	}
	return r, nil
}

// checkReadable rejects a file that this process cannot read without harm. What SQLite
// makes beside a file would be closed to its owner if it were another account's. A backup
// has nothing beside it.
func checkReadable(file string) error {
	err := checkFile(file, true)
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

// Read calls f with a connection that can only read; see DB.Read.
func (r *Reader) Read(_ context.Context, f func(Conn) error) error { return classify(f(r.conn)) }

// Close closes the connection.
func (r *Reader) Close() error { return r.db.Close() }

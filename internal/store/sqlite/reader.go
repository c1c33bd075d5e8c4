package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"example.com/petstore/internal/db"
)

// Reader reads a store as it is: in use, left by a killed process, or a backup, also on
// read-only media. It changes no file.
type Reader struct {
	file     string
	db       *sql.DB
	mayWrite bool // SQLite may; see Close
}

// The options of connections that change nothing.
var (
	// SQLite only maps the index of the log. If no process keeps it up to date, SQLite
	// makes one in memory. Closing the connection never copies the log.
	besideServer = url.Values{"mode": {"ro"}, "readonly_shm": {"1"}, "_pragma": {"busy_timeout=5000"}}

	// There is no log. SQLite makes an empty one and removes it.
	withoutLog = url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout=5000"}}

	// SQLite makes no file for the index of the log if it locks everybody out.
	withoutIndex = url.Values{"mode": {"rw"}, "_pragma": {"busy_timeout=5000", "locking_mode=exclusive"}}

	// SQLite takes no lock and ignores a log.
	immutable = url.Values{"mode": {"ro"}, "immutable": {"1"}}
)

// OpenReader opens the store at path as it is. A process that has it open as a Store
// loses SQLite's lock on the file by that, so that others could replace it.
func OpenReader(ctx context.Context, path string) (*Reader, error) {
	r, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	version, newest, err := versions(ctx, r.db)
	if err == nil && version == 0 {
		err = fmt.Errorf("%w at %s", db.ErrNone, r.file)
	}
	if err == nil {
		_, err = prepare(ctx, r.db, selectKeys)
		if err != nil && version < newest {
			err = db.ErrOutdated
		}
	}
	if err != nil {
		return nil, explain(path, errors.Join(err, r.Close()))
	}
	return r, nil
}

// openFile opens the file at path, whatever its schema.
func openFile(ctx context.Context, path string) (*Reader, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	options, err := optionsFor(file)
	if err != nil {
		return nil, explain(path, err)
	}
	r := &Reader{file: file, db: connect(file, options), mayWrite: options.Get("mode") == "rw"}
	if err := r.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(new(int)); err != nil {
		return nil, explain(path, errors.Join(err, r.Close()))
	}
	return r, nil
}

// optionsFor checks the file and returns the options with which SQLite changes nothing.
func optionsFor(file string) (url.Values, error) {
	if err := checkFile(file, true); err != nil {
		return nil, err
	}
	_, logErr := os.Stat(file + logSuffix)
	_, indexErr := os.Stat(file + indexSuffix)
	switch {
	case holdsLog(file) && !mayWrite(file):
		return nil, fmt.Errorf("it has a log, %s, and cannot be read where nothing can be written; "+
			"copy both files to a folder that can be written", file+logSuffix)
	case logErr == nil && indexErr == nil:
		return besideServer, nil
	case holdsLog(file):
		return withoutIndex, nil
	case mayWrite(file):
		return withoutLog, nil
	}
	return immutable, nil
}

// mayWrite reports whether this process may write to the file and make others beside it.
func mayWrite(file string) bool {
	const writing = 2 // W_OK
	return syscall.Access(file, writing) == nil && syscall.Access(filepath.Dir(file), writing) == nil
}

// Close closes the connection, unless SQLite would then copy the log into the file, as it
// does with the last connection that may write. Such a connection ends with the process.
func (r *Reader) Close() error {
	if r.mayWrite && holdsLog(r.file) {
		return nil
	}
	return r.db.Close()
}

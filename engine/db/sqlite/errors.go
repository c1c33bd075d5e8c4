package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// hasCode reports whether SQLite's extended or primary result code in err is among codes.
func hasCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// classify converts an SQLite error to a *fault.Error. A failed write is Unavailable, because a
// transaction counts only once its last frame is written. Other errors may follow that write,
// such as a failure to enlarge the index.
func classify(err error) error {
	_, classified := errors.AsType[*fault.Error](err)
	switch {
	case err == nil, classified, errors.Is(err, sql.ErrNoRows):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // of a statement
		return db.Canceled(err)
	case isBusy(err):
		return fault.Wrap(fault.Unavailable, fmt.Errorf("the store is busy, or another program has locked it: %w", err))
	case isFull(err):
		return fault.Wrap(fault.Unavailable, fmt.Errorf("the disk is full or cannot be written: %w", err))
	case hasCode(err, lib.SQLITE_READONLY):
		return fault.Wrap(fault.Unavailable, fmt.Errorf("the database is read-only: %w", err))
	}
	return fault.Wrap(fault.Internal, fmt.Errorf("the database failed: %w", err))
}

func isBusy(err error) bool    { return hasCode(err, lib.SQLITE_BUSY, lib.SQLITE_LOCKED) }
func isCorrupt(err error) bool { return hasCode(err, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB) }
func isFull(err error) bool {
	return hasCode(err, lib.SQLITE_FULL, lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE)
}

var (
	errReplaced = errors.New("was removed or replaced while it was in use, so writing has stopped")
	errMounted  = errors.New("it is a mount of its own, as containers make it of a file, " +
		"so its log would be somewhere else; mount its folder")
)

// explain formats an error of the database at path for the operator.
func explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case hasCode(err, lib.SQLITE_NOTADB):
		return fmt.Errorf("%s is not an SQLite database", path)
	case isCorrupt(err):
		return fmt.Errorf("%s %w: %w", path, db.ErrDamaged, err)
	case hasCode(err, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY):
		err = openError(path, err)
	case isBusy(err), isFull(err):
		err = classify(err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// maxPath is the length of the longest path that SQLite opens.
const maxPath = 512 - len(journalSuffix)

// openError returns why SQLite could not open the database at path or a file beside it: the first
// error of opening them again, or err.
func openError(path string, err error) error {
	file, resolveErr := resolve(path)
	if resolveErr == nil && len(file) > maxPath {
		return fmt.Errorf("its full path is longer than %d bytes", maxPath)
	}
	for _, suffix := range []string{"", logSuffix, indexSuffix, journalSuffix} {
		f, err := os.OpenFile(file+suffix, os.O_RDWR, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = f.Close()
	}
	const mayWrite = 2
	if accessErr := syscall.Access(filepath.Dir(file), mayWrite); accessErr != nil {
		return fmt.Errorf("its folder %s cannot be written to: %w", filepath.Dir(file), accessErr)
	}
	return err
}

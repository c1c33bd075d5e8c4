package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

// hasCode reports whether SQLite's extended or primary result code in err is among codes.
func hasCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// classify converts an SQLite error to a *pets.Error. A failed write is Unavailable,
// because only the last write of a transaction makes its part of the log valid. Other
// errors, such as a failure to enlarge the index, may come after that.
func classify(err error) error {
	if _, ok := errors.AsType[*pets.Error](err); ok || err == nil || errors.Is(err, sql.ErrNoRows) || isRefusal(err) {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return gaveUp(err)
	case isBusy(err):
		return &pets.Error{Kind: pets.Unavailable, Message: "the store is busy, or another program has locked it", Err: err}
	case isFull(err):
		return &pets.Error{Kind: pets.Unavailable, Message: "the disk is full or cannot be written", Err: err}
	case hasCode(err, lib.SQLITE_READONLY):
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is read-only", Err: err}
	}
	return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: err}
}

// isRefusal reports whether a write decided on err, which is the caller's fault,
// before it changed anything. A refusal does not roll back the writes of others.
func isRefusal(err error) bool {
	if e, ok := errors.AsType[*pets.Error](err); ok {
		return e.Kind != pets.Internal && e.Kind != pets.Unavailable
	}
	return errors.Is(err, keys.ErrNotFound)
}

func gaveUp(cause error) error {
	return &pets.Error{Kind: pets.Unavailable, Message: "the request timed out or was canceled", Err: cause}
}

// isUnsynced reports whether an fsync failed. The kernel may drop the pages then, and
// report the next fsync as a success.
func isUnsynced(err error) bool {
	return hasCode(err, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_DIR_FSYNC)
}

// isFull reports whether the disk did not take what was written. SQLite does not
// tell a used-up quota from a disk that fails.
func isFull(err error) bool {
	return hasCode(err, lib.SQLITE_FULL, lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE)
}

func isBusy(err error) bool { return hasCode(err, lib.SQLITE_BUSY, lib.SQLITE_LOCKED) }

func isCorrupt(err error) bool { return hasCode(err, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB) }

// Errors for which the command line has advice.
var (
	ErrExists  = errors.New("already exists")
	ErrDamaged = errors.New("is damaged")
	ErrLoneLog = errors.New("holds acknowledged writes")
)

var (
	errReplaced = errors.New("was removed or replaced while it was in use, so writing has stopped")
	errInUse    = errors.New("a server or a command has it open; stop it first")
)

// explain formats an error of the database at path for the operator.
func explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case hasCode(err, lib.SQLITE_NOTADB):
		return fmt.Errorf("%s is not an SQLite database", path)
	case isCorrupt(err):
		return fmt.Errorf("%s %w: %w", path, ErrDamaged, err)
	case hasCode(err, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY):
		err = errors.New("permission denied for it or its folder, or the disk failed")
	case isBusy(err), isFull(err):
		err = classify(err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

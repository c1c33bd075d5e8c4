package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/store"
)

// code returns SQLite's extended and primary result codes in err, or zeros.
func code(err error) (extended, primary int) {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code(), e.Code() & 0xff
	}
	return 0, 0
}

// hasCode reports whether the extended or the primary result code in err is among codes.
func hasCode(err error, codes ...int) bool {
	extended, primary := code(err)
	return extended != 0 && (slices.Contains(codes, extended) || slices.Contains(codes, primary))
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
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is locked by another process", Err: err}
	case hasCode(err, lib.SQLITE_FULL):
		return &pets.Error{Kind: pets.Unavailable, Message: "the disk is full", Err: err}
	case hasCode(err, lib.SQLITE_IOERR_WRITE):
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

// isFatal reports whether no write may be acknowledged after err. After a failed
// fsync the kernel may drop the pages and report the next fsync as a success.
func isFatal(err error) bool {
	return errors.Is(err, ErrReplaced) || hasCode(err, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_DIR_FSYNC)
}

// isFull reports whether the disk did not take what was written. SQLite does not
// tell a used-up quota from a disk that fails.
func isFull(err error) bool {
	return hasCode(err, lib.SQLITE_FULL, lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE)
}

func isBusy(err error) bool { return hasCode(err, lib.SQLITE_BUSY, lib.SQLITE_LOCKED) }

func isCorrupt(err error) bool { return hasCode(err, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB) }

// Faults for which the command line has advice.
var (
	ErrNoDatabase  = store.ErrNoStore
	ErrNoFolder    = errors.New("its folder does not exist")
	ErrDangling    = errors.New("it is a symbolic link to nothing")
	ErrStoreFile   = errors.New("a file of a store")
	ErrExists      = errors.New("already exists")
	ErrForeign     = errors.New("it belongs to another program and was not changed")
	ErrNotSQLite   = errors.New("is not an SQLite database")
	ErrDamaged     = errors.New("is damaged")
	ErrDamagedPage = errors.New("a damaged page was found")
	ErrNewer       = errors.New("is newer than this program")
	ErrLoneLog     = errors.New("holds acknowledged writes")
	ErrLocked      = errors.New("is locked by another process")
	ErrOpening     = errors.New("another process is opening or restoring it")
	ErrOpen        = errors.New("has it open")
	ErrFull        = errors.New("cannot be opened: the disk is full")
	ErrMayNotLast  = errors.New("that may not last")
	ErrReplaced    = errors.New("was removed or replaced while it was in use, so writing has stopped")
)

// openErrors explains SQLite's codes to the operator.
var openErrors = map[int]error{
	lib.SQLITE_NOTADB:        ErrNotSQLite,
	lib.SQLITE_CORRUPT:       ErrDamaged,
	lib.SQLITE_BUSY:          ErrLocked,
	lib.SQLITE_CANTOPEN:      errors.New("cannot be opened: permission denied for it or its folder, or the disk failed"),
	lib.SQLITE_READONLY:      errors.New("cannot be opened: permission denied for it or its folder"),
	lib.SQLITE_FULL:          ErrFull,
	lib.SQLITE_IOERR_WRITE:   fmt.Errorf("%w, or cannot be written", ErrFull),
	lib.SQLITE_IOERR_SHMSIZE: fmt.Errorf("%w, or its index %s could not be written", ErrFull, indexSuffix),
}

// explain formats an error from opening the database at path for the operator.
func explain(path string, err error) error {
	extended, primary := code(err)
	if known := cmp.Or(openErrors[extended], openErrors[primary]); known != nil {
		return fmt.Errorf("%s %w", path, known)
	}
	return fmt.Errorf("cannot open %s: %w", path, err)
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

// code returns SQLite's extended and primary result codes in err, or zeros.
func code(err error) (extended, primary int) {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code(), e.Code() & 0xff
	}
	return 0, 0
}

// classify converts an SQLite error to a *pets.Error. Busy, full and read-only mean
// that nothing was done, because the transaction was rolled back. A failure to enlarge
// the index is Internal: it may occur after the commit was written to the log.
func classify(err error) error {
	if _, ok := errors.AsType[*pets.Error](err); ok || err == nil || errors.Is(err, sql.ErrNoRows) || isRefusal(err) {
		return err
	}
	extended, primary := code(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return gaveUp(err)
	case isBusy(err):
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is locked by another process", Err: err}
	case isFull(err) && extended != lib.SQLITE_IOERR_SHMSIZE:
		return &pets.Error{Kind: pets.Unavailable, Message: "the disk is full", Err: err}
	case primary == lib.SQLITE_READONLY:
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
	_, primary := code(err)
	return errors.Is(err, errReplaced) || primary == lib.SQLITE_IOERR && !isFull(err)
}

// isFull reports whether the disk had no room for a page.
func isFull(err error) bool {
	extended, primary := code(err)
	return primary == lib.SQLITE_FULL || extended == lib.SQLITE_IOERR_SHMSIZE || errors.Is(err, errQuota)
}

// errQuota means that the disk has room, but not for the owner of the database.
var errQuota = errors.New("the disk quota is used up")

// checkQuota adds errQuota to a failed write if writing to the lock file fails for
// want of room too. SQLite tells only a full disk from a broken one.
func checkQuota(file string, err error) error {
	if extended, _ := code(err); extended != lib.SQLITE_IOERR_WRITE {
		return err
	}
	probe := os.WriteFile(file+lockSuffix, make([]byte, 64<<10), 0o600)
	_ = os.Truncate(file+lockSuffix, 0)
	if errors.Is(probe, syscall.EDQUOT) || errors.Is(probe, syscall.ENOSPC) {
		return fmt.Errorf("%w: %w", errQuota, err)
	}
	return err
}

func isBusy(err error) bool {
	_, primary := code(err)
	return primary == lib.SQLITE_BUSY || primary == lib.SQLITE_LOCKED
}

func isCorrupt(err error) bool {
	_, primary := code(err)
	return primary == lib.SQLITE_CORRUPT || primary == lib.SQLITE_NOTADB
}

// errForeign is returned for a database with tables of another program.
var errForeign = errors.New("it belongs to another program and was not changed; choose another file")

// openErrors explains SQLite's codes to the operator.
var openErrors = map[int]string{
	lib.SQLITE_NOTADB:        "is not an SQLite database; choose another file, or, if it was one, restore a backup with petstore restore --force",
	lib.SQLITE_CORRUPT:       "is damaged; restore a backup with petstore restore --force",
	lib.SQLITE_BUSY:          "is locked by another process; stop it or wait, then try again",
	lib.SQLITE_CANTOPEN:      "cannot be opened: this user may not read and write it or its folder",
	lib.SQLITE_READONLY:      "cannot be opened: it or its folder is read-only",
	lib.SQLITE_FULL:          "cannot be opened: the disk is full; free some space, then start again",
	lib.SQLITE_IOERR_SHMSIZE: "cannot be opened: its index " + indexSuffix + " could not be written; if the disk is full, free some space, then start again",
}

// explain formats an error from opening the database at path as one line for the
// operator.
func explain(path string, err error) error {
	extended, primary := code(err)
	if errors.Is(err, errQuota) {
		primary = lib.SQLITE_FULL
	}
	if sentence := cmp.Or(openErrors[extended], openErrors[primary]); sentence != "" {
		return fmt.Errorf("%s %s", path, sentence)
	}
	return fmt.Errorf("cannot open %s: %w", path, err)
}

package sqlite

import (
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

// classify converts an SQLite error to a *pets.Error. Busy and full mean that
// nothing was done, because the transaction was rolled back. A failure to enlarge
// the index is Internal: it may occur after the commit was written to the log.
func classify(err error) error {
	if _, ok := errors.AsType[*pets.Error](err); ok || err == nil || errors.Is(err, sql.ErrNoRows) || isRefusal(err) {
		return err
	}
	extended, _ := code(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return gaveUp(err)
	case isBusy(err):
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is locked by another process", Err: err}
	case isFull(err) && extended != lib.SQLITE_IOERR_SHMSIZE:
		return &pets.Error{Kind: pets.Unavailable, Message: "the disk is full", Err: err}
	}
	return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: nameOperation(err)}
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

// isFatal reports whether no write may be acknowledged after err. A failed fsync
// cannot be retried: the kernel may have dropped the pages, and would then report
// the next fsync as a success.
func isFatal(err error) bool {
	_, primary := code(err)
	return isReplaced(err) || primary == lib.SQLITE_IOERR && !isFull(err)
}

func isReplaced(err error) bool {
	_, ok := errors.AsType[*replacedError](err)
	return ok
}

// isFull reports whether the disk had no room for a page.
func isFull(err error) bool {
	extended, primary := code(err)
	return primary == lib.SQLITE_FULL || extended == lib.SQLITE_IOERR_SHMSIZE || errors.Is(err, errQuota)
}

// errQuota means that the disk has room, but not for the owner of the database.
var errQuota = errors.New("the disk quota is used up")

// checkQuota adds errQuota to a failed write if a write to the lock file, whose
// contents have no meaning, also fails for want of room. SQLite tells a full disk
// from a broken one, but not a quota.
func checkQuota(file string, err error) error {
	if extended, _ := code(err); extended != lib.SQLITE_IOERR_WRITE {
		return err
	}
	f, openErr := os.OpenFile(file+lockSuffix, os.O_WRONLY|os.O_APPEND, 0)
	if openErr != nil {
		return err
	}
	defer f.Close()
	_, writeErr := f.Write(make([]byte, 64<<10))
	_ = f.Truncate(0)
	if errors.Is(writeErr, syscall.EDQUOT) || errors.Is(writeErr, syscall.ENOSPC) {
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

// operations names the failed operation for each code of an I/O error. SQLite's
// own message is the same for all of them.
var operations = map[int]string{
	lib.SQLITE_IOERR_READ:       "reading",
	lib.SQLITE_IOERR_SHORT_READ: "reading",
	lib.SQLITE_IOERR_WRITE:      "writing",
	lib.SQLITE_IOERR_FSYNC:      "fsync",
	lib.SQLITE_IOERR_DIR_FSYNC:  "fsync of the folder",
	lib.SQLITE_IOERR_TRUNCATE:   "truncating",
}

func nameOperation(err error) error {
	extended, _ := code(err)
	if operation, ok := operations[extended]; ok {
		return fmt.Errorf("%w, %s", err, operation)
	}
	return err
}

// errForeign is returned for a database with tables of another program.
var errForeign = errors.New("belongs to another program and was not changed; choose another file")

// openErrors explains SQLite's codes to the operator.
var openErrors = map[int]string{
	lib.SQLITE_NOTADB:   "is not an SQLite database; choose another file, or, if it was one, restore a backup with petstore restore --force",
	lib.SQLITE_CORRUPT:  "is damaged; " + damageAdvice,
	lib.SQLITE_BUSY:     "is locked by another process; stop it or wait, then try again",
	lib.SQLITE_CANTOPEN: "cannot be opened: this user may not read and write it or its folder",
	lib.SQLITE_READONLY: "cannot be opened: it or its folder is read-only",
}

// explain formats an error from opening the database at path as one line for the
// operator.
func explain(path string, err error) error {
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%s %w", path, errForeign)
	}
	extended, primary := code(err)
	if extended == lib.SQLITE_IOERR_SHMSIZE {
		return fmt.Errorf("%s cannot be opened: its index %s could not be written; if the disk is full, free some space, then start again", path, path+indexSuffix)
	}
	if isFull(err) {
		return fmt.Errorf("%s cannot be opened: the disk is full; free some space, then start again", path)
	}
	if sentence, ok := openErrors[primary]; ok {
		return fmt.Errorf("%s %s", path, sentence)
	}
	return fmt.Errorf("cannot open %s: %w", path, nameOperation(err))
}

package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/old/pets"
	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
)

// translate classes an error of SQLite by its code. Busy and full mean that
// nothing was done: the transaction is rolled back whole.
func translate(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, ok := errors.AsType[*pets.Error](err); ok {
		return err
	}
	_, primary := dbfile.Code(err)
	switch {
	case primary == lib.SQLITE_BUSY, primary == lib.SQLITE_LOCKED:
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is locked by another process", Err: err}
	case isFull(err):
		return &pets.Error{Kind: pets.Unavailable, Message: "the disk is full", Err: err}
	}
	return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: err}
}

// isFatal reports whether this process must acknowledge no write after err. A failed
// fsync cannot be tried again: the kernel may have dropped the pages, and reports the
// next fsync as a success.
func isFatal(err error) bool {
	return isReplaced(err) || isDiskFailure(err) || dbfile.IsCorrupt(err)
}

func isReplaced(err error) bool {
	_, ok := errors.AsType[*replacedError](err)
	return ok
}

// isDiskFailure reports whether err tells of a write that the disk may have lost.
func isDiskFailure(err error) bool {
	extended, primary := dbfile.Code(err)
	return primary == lib.SQLITE_IOERR && extended != lib.SQLITE_IOERR_SHMSIZE
}

// failedOperations has the operation of the disk for SQLite's codes; its text is the
// same for all of them.
var failedOperations = map[int]string{
	lib.SQLITE_IOERR_READ:       "reading",
	lib.SQLITE_IOERR_SHORT_READ: "reading",
	lib.SQLITE_IOERR_WRITE:      "writing",
	lib.SQLITE_IOERR_FSYNC:      "fsync",
	lib.SQLITE_IOERR_DIR_FSYNC:  "fsync of the folder",
	lib.SQLITE_IOERR_TRUNCATE:   "truncating",
}

// nameOperation adds the operation of the disk that failed to err.
func nameOperation(err error) error {
	extended, _ := dbfile.Code(err)
	if operation, ok := failedOperations[extended]; ok {
		return fmt.Errorf("%w, %s", err, operation)
	}
	return err
}

// isFull reports whether there was no room for a page, and the file is as it was.
func isFull(err error) bool {
	extended, primary := dbfile.Code(err)
	return primary == lib.SQLITE_FULL || extended == lib.SQLITE_IOERR_SHMSIZE
}

func isConstraint(err error) bool {
	_, primary := dbfile.Code(err)
	return primary == lib.SQLITE_CONSTRAINT
}

// isNoTransaction recognises the reply to a ROLLBACK outside a transaction,
// for which SQLite has no code of its own.
func isNoTransaction(err error) bool {
	_, primary := dbfile.Code(err)
	return primary == lib.SQLITE_ERROR && strings.Contains(err.Error(), "no transaction is active")
}

package sqlite

import (
	"database/sql"
	"errors"
	"strings"

	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/sqlite/dbfile"
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
	extended, primary := dbfile.Code(err)
	switch {
	case primary == lib.SQLITE_BUSY, primary == lib.SQLITE_LOCKED:
		return &pets.Error{Kind: pets.Unavailable, Message: "the database is locked by another process", Err: err}
	case primary == lib.SQLITE_FULL, extended == lib.SQLITE_IOERR_SHMSIZE:
		return &pets.Error{Kind: pets.Unavailable, Message: "the disk is full", Err: err}
	}
	return &pets.Error{Kind: pets.Internal, Message: "the database failed", Err: err}
}

// isFatal reports whether after err, met while writing, nothing this process
// would acknowledge could be trusted. A failed fsync cannot be tried again: the
// kernel may have dropped the pages and will call the next one a success.
func isFatal(err error) bool {
	if _, replaced := errors.AsType[*replacedError](err); replaced {
		return true
	}
	extended, primary := dbfile.Code(err)
	switch primary {
	case lib.SQLITE_IOERR:
		return extended != lib.SQLITE_IOERR_SHMSIZE
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return true
	}
	return false
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

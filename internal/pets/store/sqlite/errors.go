package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"example.com/petstore/internal/pets"
)

// code returns SQLite's result code in err, extended and primary (its lower
// eight bits), or zeros.
func code(err error) (extended, primary int) {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code(), e.Code() & 0xff
	}
	return 0, 0
}

// translate classes an error of SQLite by its code. Busy and full mean that
// nothing was done: the transaction is rolled back whole.
func translate(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if _, ok := errors.AsType[*pets.Error](err); ok {
		return err
	}
	extended, primary := code(err)
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
	extended, primary := code(err)
	switch primary {
	case lib.SQLITE_IOERR:
		return extended != lib.SQLITE_IOERR_SHMSIZE
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return true
	}
	return false
}

func isBusy(err error) bool {
	_, primary := code(err)
	return primary == lib.SQLITE_BUSY
}

func isConstraint(err error) bool {
	_, primary := code(err)
	return primary == lib.SQLITE_CONSTRAINT
}

// isNoTransaction recognises the reply to a ROLLBACK outside a transaction,
// for which SQLite has no code of its own.
func isNoTransaction(err error) bool {
	_, primary := code(err)
	return primary == lib.SQLITE_ERROR && strings.Contains(err.Error(), "no transaction is active")
}

// explainOpen makes one sentence for the operator of an error of Open.
func explainOpen(path string, err error) error {
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%s is %w, and was left as it is; choose another file", path, errForeign)
	}
	switch _, primary := code(err); primary {
	case lib.SQLITE_NOTADB:
		return fmt.Errorf("%s is not an SQLite database; choose another file", path)
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%s is locked by another process; stop it or wait, then try again", path)
	case lib.SQLITE_FULL:
		return fmt.Errorf("cannot open %s: the disk is full", path)
	case lib.SQLITE_CANTOPEN:
		return fmt.Errorf("cannot open %s: it, or its folder, may not be read and written by this user", path)
	case lib.SQLITE_READONLY:
		return fmt.Errorf("cannot open %s: it, or its folder, is read-only", path)
	}
	return fmt.Errorf("cannot open %s: %w", path, err)
}

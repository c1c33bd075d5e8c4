package dbfile

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// Code returns SQLite's result code in err, extended and primary (its lower
// eight bits), or zeros.
func Code(err error) (extended, primary int) {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code(), e.Code() & 0xff
	}
	return 0, 0
}

// IsBusy reports whether another process held a lock for too long.
func IsBusy(err error) bool {
	_, primary := Code(err)
	return primary == lib.SQLITE_BUSY
}

// IsCorrupt reports whether SQLite met a page that cannot be one.
func IsCorrupt(err error) bool {
	_, primary := Code(err)
	return primary == lib.SQLITE_CORRUPT || primary == lib.SQLITE_NOTADB
}

// errForeign is the error of CheckOwner for a database that is not ours.
var errForeign = errors.New("a database of another program")

// Explain makes one sentence for the operator of an error met while the database at
// path was opened.
func Explain(path string, err error) error {
	if errors.Is(err, errForeign) {
		return fmt.Errorf("%s is %w, and was left as it is; choose another file", path, errForeign)
	}
	switch _, primary := Code(err); primary {
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

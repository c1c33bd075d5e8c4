// Package db declares the options, errors and reports that the databases below it share. A write
// that returns nil is durable. Errors have a kind of package fault: after Unavailable nothing was
// written, and after Internal the outcome is unknown. Those of the caller's fault are returned unchanged.
package db

import (
	"errors"
	"fmt"
	"log/slog"

	"example.com/petstore/engine/fault"
)

// Options says how to open a database. The zero value is valid.
type Options struct {
	MustExist   bool         // fail if there is none, instead of creating one
	RequireSync bool         // fail unless the server waits for a synchronous standby
	Logger      *slog.Logger // reports a new database, a migration and damage; may be nil
}

// Errors of opening a database and of commands on it. Format: path or address + text.
var (
	ErrNone          = errors.New("there is no store")
	ErrOutdated      = errors.New("its schema is older than this program's")
	ErrNewer         = errors.New("its schema is newer than this program")
	ErrExists        = errors.New("already exists")
	ErrInTheWay      = errors.New("is in the way")
	ErrUnsynced      = errors.New("a power cut may undo that")
	ErrDamaged       = errors.New("is damaged")
	ErrAltered       = errors.New("its schema is not as this program makes it")
	ErrLoneLog       = errors.New("holds acknowledged writes")
	ErrUnreachable   = errors.New("no writable primary can be reached")
	ErrNoDatabase    = errors.New("no such database")
	ErrMayNotMigrate = errors.New("its schema is out of date, and the user may not change it")
)

// ErrClosed is the error of a call after Close.
var ErrClosed = fault.Wrap(fault.Unavailable, errors.New("the store is closed"))

// Canceled returns the error of a call whose context ended before anything was done.
func Canceled(cause error) error {
	return fault.Wrap(fault.Unavailable, fmt.Errorf("the request timed out or was canceled: %w", cause))
}

// Report describes a database file that was read in full.
type Report struct {
	Schema  int64  // the version
	Rows    []Rows // of the program's tables
	Bytes   int64
	Altered error // how the schema differs from a fresh one of that version, or nil
}

// Rows is the number of rows of a table.
type Rows struct {
	Table  string
	Count  int64
	LastID int64 // after a restore, new identifiers are greater; otherwise 0
}

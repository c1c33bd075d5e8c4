// Package dbfile knows a database of this program as a file: its name, the files that
// SQLite puts beside it, the settings of a connection, the lock and the schema. The
// store that serves a file and the tools that look after a file build on it. It knows
// no animals and no keys.
package dbfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/petstore/internal/old/reason"
)

// The endings of the files that SQLite and this package put beside the database.
const (
	LogSuffix   = "-wal"
	IndexSuffix = "-shm"
	lockSuffix  = "-lock"
)

// Make makes an empty file (mode 0600) where there is none, and reports whether it did.
// SQLite itself would make a file that others may read. SQLite's other files take their
// permissions from this file.
func Make(path string) (made bool, err error) {
	// A file that exists is not opened here: closing it again would give up
	// the locks that another Store of this process has on it (POSIX).
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, errNoFolder(path)
	case err == nil:
		made, err = true, f.Close()
	}
	if err != nil {
		return made, fmt.Errorf("cannot make the database %s: %w", path, reason.Of(err))
	}
	return made, nil
}

// Find returns the name of the file at path that no symbolic link is part of: SQLite
// puts its other files beside that one. It refuses a path where there is no file.
func Find(path string) (file string, err error) {
	if err := CheckName(path); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no database %s; name the right one with --store", path)
	case err != nil:
		return "", fmt.Errorf("cannot open the database %s: %w", path, reason.Of(err))
	case info.IsDir():
		return "", fmt.Errorf("cannot open the database: %s is a directory", path)
	}
	if file, err = filepath.EvalSymlinks(path); err != nil {
		return "", fmt.Errorf("cannot open the database %s: %w", path, reason.Of(err))
	}
	return file, nil
}

// Place is Find for a file that need not be there; its folder must be.
func Place(path string) (file string, err error) {
	if err := CheckName(path); err != nil {
		return "", err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return Find(path)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", errNoFolder(path)
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

// CheckName refuses what SQLite would not take for the name of a file.
func CheckName(path string) error {
	if path == "" || strings.HasPrefix(path, ":") {
		return fmt.Errorf("%q is not a file name; give sqlite:PATH, or memory: to keep nothing", path)
	}
	return nil
}

// errNoFolder names the folder of path, which is not there.
func errNoFolder(path string) error {
	folder := filepath.Dir(Absolute(path))
	return fmt.Errorf("cannot make the database %s: its folder does not exist; make it with: mkdir -p %s", path, folder)
}

// Absolute returns the path from the root, for messages.
func Absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// CheckWritable refuses a file that SQLite could only read: it would open it,
// and fail with every write.
func CheckWritable(file string) error {
	for _, name := range []string{file, filepath.Dir(file)} {
		if err := writable(name); err != nil {
			return fmt.Errorf("cannot write to %s: %w; a server needs the file and its folder to be writable", name, err)
		}
	}
	return nil
}

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Options say how a database is opened. The zero value makes one where there
// is none.
type Options struct {
	MustExist bool                 // refuse a database that is not there
	ReadOnly  bool                 // change nothing and make nothing
	Notify    func(message string) // told notices for the operator; may be nil
}

// The endings of the files that SQLite and this package put beside the database.
const (
	logSuffix   = "-wal"
	indexSuffix = "-shm"
	lockSuffix  = "-lock"
)

// prepareFile makes the file where there is none and o allows it, and returns
// the name that no symbolic link is part of: SQLite puts its other files beside
// that one. It makes the file with narrow permissions before SQLite would make
// it with wide ones; the other files take theirs from it.
func prepareFile(path string, o Options) (file string, made bool, err error) {
	if path == "" || strings.HasPrefix(path, ":") {
		return "", false, fmt.Errorf("%q is not a file name; give sqlite:PATH, or memory: to keep nothing", path)
	}
	if !o.MustExist && !o.ReadOnly {
		// A file that exists is not opened here: closing it again would give up
		// the locks that another Store of this process has on it (POSIX).
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		switch {
		case err == nil:
			made = true
			if err := f.Close(); err != nil {
				return "", made, fmt.Errorf("cannot make the database: %w", err)
			}
		case errors.Is(err, fs.ErrNotExist):
			return "", false, errNoFolder(path)
		case !errors.Is(err, fs.ErrExist):
			return "", false, fmt.Errorf("cannot make the database: %w", err)
		}
	}
	file, err = existingFile(path, o)
	return file, made, err
}

// errNoFolder names the folder of path, which is not there.
func errNoFolder(path string) error {
	folder := filepath.Dir(absolute(path))
	return fmt.Errorf("cannot make the database %s: its folder does not exist; make it with: mkdir -p %s", path, folder)
}

func existingFile(path string, o Options) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && o.MustExist,
		err == nil && o.MustExist && info.Size() == 0:
		return "", fmt.Errorf("there is no database at %s; mount its volume, or make one with: petstore keys create NAME --store sqlite:%s", absolute(path), path)
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no database %s; name the right one with --store", path)
	case err != nil:
		return "", fmt.Errorf("cannot open the database: %w", err)
	case info.IsDir():
		return "", fmt.Errorf("cannot open the database: %s is a directory", path)
	}
	if o.Notify != nil && !o.ReadOnly && info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		o.Notify(fmt.Sprintf("other users may open %s (mode %04o), which holds the hashes of keys; close it with: chmod 600 %s", absolute(path), info.Mode().Perm(), path))
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot open the database: %w", err)
	}
	return file, nil
}

// absolute returns the path from the root, for messages.
func absolute(path string) string {
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// checkWritable refuses a file that SQLite could only read: it would open it,
// and fail with every write.
func checkWritable(file string) error {
	for _, name := range []string{file, filepath.Dir(file)} {
		if err := writable(name); err != nil {
			return fmt.Errorf("cannot write to %s: %w; a server needs the file and its folder to be writable", name, err)
		}
	}
	return nil
}

// openedFile is a file as it was when the store was opened.
type openedFile struct {
	name string
	info fs.FileInfo
}

// openedFiles are the files that hold everything acknowledged.
type openedFiles []openedFile

func lookAt(names ...string) (openedFiles, error) {
	var files openedFiles
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, openedFile{name, info})
	}
	return files, nil
}

// replacedError says which file is no longer the one that was opened.
type replacedError struct{ message string }

func (e *replacedError) Error() string { return e.message }

// stillThere returns an error unless the names lead to the files that were
// opened. SQLite itself goes on writing to a file that was removed. It looks at
// names only: opening and closing a file would give up SQLite's locks on it.
func (files openedFiles) stillThere() error {
	for _, f := range files {
		info, err := os.Stat(f.name)
		if err == nil && os.SameFile(f.info, info) {
			continue
		}
		what := "was removed or replaced while it was in use"
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			what = fmt.Sprintf("can no longer be looked at (%v)", err)
		}
		return &replacedError{fmt.Sprintf("%s %s, so nothing more is acknowledged; put the right file in place and start again", absolute(f.name), what)}
	}
	return nil
}

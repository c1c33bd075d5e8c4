// Package wholefile gives files their names only once they are whole and on
// disk, so that neither a crash nor a power cut leaves half a file under a name.
// It does not lock names: of two writers of one file, the later one wins.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"example.com/petstore/internal/old/reason"
)

// File is a file on its way to its name. Until Commit it has another name, Name, in
// the same folder. The caller writes it, or closes it for another program to write, and
// ends with Commit or Discard.
type File struct {
	*os.File
	target  string
	replace bool
	folder  *flock.Flock
}

// Create begins a file (mode 0600) that is to be called name. It returns an error
// where CheckTarget does. Create also removes what programs that were killed have left
// in the folder.
func Create(name string, replace bool) (*File, error) {
	if err := CheckTarget(name, replace); err != nil {
		return nil, err
	}
	folder := enter(filepath.Dir(name))
	file, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+unfinished+"*")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write %s: %w", name, reason.Of(err)), folder.Close())
	}
	return &File{File: file, target: name, replace: replace, folder: folder}, nil
}

// Commit closes the file, syncs it and gives it its name, in place of a file that may
// be replaced. When it returns nil, the name survives a power cut. An UnsyncedError
// says that the file has its name, and another error that it has not. Commit calls
// CheckTarget again, since another program may have made such a file meanwhile.
func (f *File) Commit() error {
	if err := f.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return fmt.Errorf("cannot write %s: %w", f.target, reason.Of(err))
	}
	if err := CheckTarget(f.target, f.replace); err != nil {
		return err
	}
	if err := syncFile(f.Name()); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.target, reason.Of(err))
	}
	if err := os.Rename(f.Name(), f.target); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.target, reason.Of(err))
	}
	if err := SyncFolder(f.target); err != nil {
		return &UnsyncedError{Name: f.target, Err: err}
	}
	return nil
}

// Discard closes the file and removes it, unless it was committed. It also removes the
// files that SQLite has put beside it.
func (f *File) Discard() error {
	err := f.Close()
	if errors.Is(err, fs.ErrClosed) {
		err = nil
	}
	removeAll(f.Name())
	return errors.Join(err, f.folder.Close())
}

// UnsyncedError is the error of a file that has its name, but may lose it by a power
// cut.
type UnsyncedError struct {
	Name string
	Err  error
}

func (e *UnsyncedError) Error() string {
	return fmt.Sprintf("%s is the new file, and whole, but a power cut may undo that: its folder could not be synced: %v", e.Name, reason.Of(e.Err))
}

func (e *UnsyncedError) Unwrap() error { return e.Err }

// CheckTarget returns an error where a file may not be written under that name:
// something other than a file has it, or a file that may not be replaced.
func CheckTarget(name string, replace bool) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cannot write %s: %w", name, reason.Of(err))
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot write %s: it is there and not a file; to write to a pipe, redirect standard output", name)
	case !replace:
		return fmt.Errorf("%s is there already; choose another name, or replace it with --force", name)
	}
	return nil
}

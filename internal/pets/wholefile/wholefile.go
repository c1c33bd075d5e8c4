// Package wholefile gives files their names only once they are whole and on
// disk, so that neither a crash nor a power cut leaves half a file under a name.
// It does not lock: of two writers of one file, the later one wins.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Temporary makes an empty file (mode 0600) beside the file called name, which
// Rename can later give that name. The caller closes it, and removes it where
// it gets no name.
func Temporary(name string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
}

// Rename syncs the file called from and gives it the name to in the same folder, in
// place of any file of that name. Then it syncs the folder: when Rename returns nil,
// the name survives a power cut.
func Rename(from, to string) error {
	f, err := os.OpenFile(from, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return SyncFolder(to)
}

// SyncFolder puts the names in the folder of the file called name on disk.
// Windows has no such call, and needs none.
func SyncFolder(name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// CheckTarget returns an error where a file may not be written under that name:
// something other than a file has it, or a file that may not be replaced.
func CheckTarget(name string, replace bool) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // the message has the name already
		}
		return fmt.Errorf("cannot write %s: %w", name, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot write %s: it is there and not a file; to write to a pipe, redirect standard output", name)
	case !replace:
		return fmt.Errorf("%s is there already; choose another name, or replace it with --force", name)
	}
	return nil
}

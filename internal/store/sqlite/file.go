package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// The suffixes of the files beside the database.
const (
	logSuffix     = "-wal"
	indexSuffix   = "-shm"
	lockSuffix    = "-lock"
	journalSuffix = "-journal" // SQLite's, of a file without a log
)

// prepareFile creates the file if it does not exist and o allows it. SQLite gives its
// mode to the files beside it.
func prepareFile(file string, o Options) error {
	if err := cmp.Or(checkNames(file), checkLog(file)); err != nil {
		return err
	}
	if !o.MustExist {
		f, err := createFile(file, filepath.Dir(file))
		if err == nil {
			o.Logger.Info("created a new store", "path", file)
			return f.Close()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && o.MustExist && info.Size() == 0 {
		return fmt.Errorf("%w at %s", ErrNoDatabase, file)
	}
	return err
}

// resolve returns the full path without symbolic links, where SQLite puts its other
// files. It rejects every path that cannot be a database's. The file need not exist.
func resolve(path string) (file string, err error) {
	if path == "" || strings.HasPrefix(path, ":") { // SQLite does not take these for files
		return "", fmt.Errorf("%q is not a file name; give the path of a file", path)
	}
	path, err = filepath.Abs(path)
	_, linkErr := os.Lstat(path) // before Stat: another process may create the file in between
	info, statErr := os.Stat(path)
	switch {
	case err != nil:
	case statErr == nil && !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case statErr == nil:
		file, err = filepath.EvalSymlinks(path)
	case linkErr == nil && errors.Is(statErr, fs.ErrNotExist):
		err = ErrDangling
	default:
		if file, err = filepath.EvalSymlinks(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			err = ErrNoFolder
		}
		file = filepath.Join(file, filepath.Base(path))
	}
	for _, suffix := range []string{logSuffix, indexSuffix, lockSuffix, journalSuffix} {
		if err == nil && strings.HasSuffix(file, suffix) {
			err = fmt.Errorf("a name that ends in %s is that of %w", suffix, ErrStoreFile)
		}
	}
	if err != nil {
		return "", fmt.Errorf("cannot open %s: %w", path, err)
	}
	return file, nil
}

// checkNames rejects a file with hard links: for each of its names, SQLite would
// keep a log of its own.
func checkNames(file string) error {
	info, err := os.Stat(file)
	if err != nil {
		return nil // the caller opens it
	}
	if names, _, _ := identity(info); names > 1 {
		return fmt.Errorf("%s has %d names (hard links), and stores opened under different names would destroy each other's pets; remove all names but one: find . -xdev -samefile %s", file, names, filepath.Base(file))
	}
	return nil
}

// createFile creates a file with the owner of the one called like; see setOwner.
func createFile(name, like string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		setOwner(f, like)
	}
	return f, err
}

// setOwner gives what root made the owner of the file called like, or of its folder if
// there is none, so that the service can use it. Like SQLite, it only tries to.
func setOwner(f *os.File, like string) {
	info, err := os.Stat(like)
	if err != nil {
		info, err = os.Stat(filepath.Dir(like))
	}
	if err == nil && os.Geteuid() == 0 {
		_, uid, gid := identity(info)
		_ = f.Chown(uid, gid)
	}
}

// lockTimeout is how long to wait while another process starts or restores.
const lockTimeout = 5 * time.Second

// newLock returns the lock of the database, not yet held. Every open store holds
// it shared, a restore exclusively. The lock file is never removed.
func newLock(file string) *flock.Flock {
	if f, err := createFile(file+lockSuffix, file); err == nil {
		_ = f.Close()
	}
	return flock.New(file+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
}

// share makes the lock a shared one. In between, it is not held.
func share(ctx context.Context, lock *flock.Flock) error {
	if lock.RLocked() {
		return nil
	}
	if err := lock.Unlock(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	_, err := lock.TryRLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return ErrOpening
	}
	return err
}

// checkLog returns an error if the log belongs to another database: if the file is
// missing, empty, or a backup, which has no log before a store opens it. SQLite would
// remove the log or apply it to the backup.
func checkLog(file string) error {
	log, err := os.Stat(file + logSuffix)
	if err != nil || log.Size() == 0 {
		return nil
	}
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0:
		return fmt.Errorf("%s is missing or empty, but its log %s %w", file, file+logSuffix, ErrLoneLog)
	case hasNoLog(file):
		return fmt.Errorf("%s is a backup, but its log %s %w of the database that was there before", file, file+logSuffix, ErrLoneLog)
	}
	return nil
}

// recoverLog writes the log that a killed or failed process left anew, while SQLite's
// lock keeps other programs from writing: after a failed fsync, the kernel may consider
// lost pages written. Closing copies the log into the file. The caller must hold the
// lock exclusively.
func recoverLog(file string) error {
	log, err := os.OpenFile(file+logSuffix, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	db := connect(file, writerPragmas)
	tx, err := db.Begin()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if _, err = io.Copy(io.NewOffsetWriter(log, 0), log); err == nil {
		err = log.Sync()
	}
	if err != nil {
		return err // closing the database would copy the log
	}
	return errors.Join(tx.Rollback(), db.Close())
}

// hasNoLog reports whether the header of the file says that it has no write-ahead log;
// see https://www.sqlite.org/fileformat2.html#file_format_version_numbers.
func hasNoLog(file string) bool {
	var header [20]byte
	if f, err := os.Open(file); err == nil {
		_, _ = io.ReadFull(f, header[:])
		_ = f.Close()
	}
	return string(header[:16]) == "SQLite format 3\x00" && header[18] == 1 && header[19] == 1
}

// syncDir syncs the directory of the file called name.
func syncDir(name string) error {
	if runtime.GOOS == "windows" { // it has no such call, and needs none
		return nil
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

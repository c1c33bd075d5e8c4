package dbfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Lock returns the lock of the database, not yet held. A lock file of its own tells
// whether any process holds the database. Each open Store shares the lock, and a
// restore has it exclusively. The kernel drops it with the process, however that ends.
// SQLite's own locks are held only during a transaction. Nothing removes the lock file:
// processes that have it open and processes that make it anew would not see each
// other's locks.
func Lock(file string) *flock.Flock {
	return flock.New(file+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
}

// Share holds the database against a restore until the lock is closed.
func Share(ctx context.Context, file string) (*flock.Flock, error) {
	l := Lock(file)
	patient, cancel := context.WithTimeout(ctx, BusyTimeout*time.Millisecond)
	defer cancel()
	switch ok, err := l.TryRLockContext(patient, 10*time.Millisecond); {
	case ok:
		return l, nil
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		err = errors.New("a restore is under way; wait for its end")
		fallthrough
	default:
		return nil, errors.Join(fmt.Errorf("cannot open %s: %w", file, err), l.Close())
	}
}

// TryShare is Share where the folder may be read-only: without a lock
// file it holds nothing.
func TryShare(file string) *flock.Flock {
	l := flock.New(file+lockSuffix, flock.SetFlag(os.O_RDONLY))
	_, _ = l.TryRLock() // a reader's only harm is to itself
	return l
}

// InUse reports whether a server, or a command that writes, holds the database
// at path.
func InUse(path string) (bool, error) {
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false, nil // there is none
	}
	if _, err := os.Stat(file + lockSuffix); err != nil {
		return false, nil
	}
	l := flock.New(file+lockSuffix, flock.SetFlag(os.O_RDONLY))
	alone, err := l.TryLock()
	return !alone && err == nil, errors.Join(err, l.Close())
}

// CheckIndex refuses a database whose index was removed under another process: a new
// index would not have that process's locks, and the two processes would spoil the
// file. A process that ends removes the index before the log, so CheckIndex looks again.
func CheckIndex(ctx context.Context, file string) error {
	for end := time.Now().Add(BusyTimeout * time.Millisecond); ; time.Sleep(10 * time.Millisecond) {
		_, log := os.Stat(file + LogSuffix)
		_, index := os.Stat(file + IndexSuffix)
		if log != nil || !errors.Is(index, fs.ErrNotExist) {
			return nil
		}
		if used, err := InUse(file); err != nil || !used {
			return err
		}
		if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("%s was removed while another process uses the database; end that process first", file+IndexSuffix)
		}
	}
}

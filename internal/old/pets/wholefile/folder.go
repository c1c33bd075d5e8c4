package wholefile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// unfinished is part of the names of files before Commit.
const unfinished = ".unfinished-"

var isUnfinished = regexp.MustCompile(`^\..+` + regexp.QuoteMeta(unfinished) + `\d+`)

// enter returns a lock on the folder, shared with others that write files into it, and
// removes files that no program writes any more. A program that is killed loses its
// lock, so a program that has the folder alone finds only leftovers in it. Where a
// folder cannot be locked, or another program holds it, nothing is removed or held.
func enter(folder string) *flock.Flock {
	lock := flock.New(folder, flock.SetFlag(os.O_RDONLY))
	if alone, err := lock.TryLock(); err == nil && alone {
		removeLeftovers(folder)
		_ = lock.Unlock() // its next lock is the shared one
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second) // another's removal takes less
	defer cancel()
	_, _ = lock.TryRLockContext(ctx, 10*time.Millisecond)
	return lock
}

func removeLeftovers(folder string) {
	entries, _ := os.ReadDir(folder) // those that could be read
	for _, e := range entries {
		if isUnfinished.MatchString(e.Name()) && e.Type().IsRegular() {
			_ = os.Remove(filepath.Join(folder, e.Name())) // another user's, perhaps
		}
	}
}

// removeAll removes the file of that name and those that SQLite puts beside one: their
// names go on with a hyphen.
func removeAll(name string) {
	_ = os.Remove(name) // mostly it has another name by now
	entries, _ := os.ReadDir(filepath.Dir(name))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), filepath.Base(name)+"-") {
			_ = os.Remove(filepath.Join(filepath.Dir(name), e.Name()))
		}
	}
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
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

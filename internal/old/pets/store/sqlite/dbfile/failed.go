package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// MarkFailed notes in the lock file why a process could no longer vouch for its
// writes. The note says that pages in memory, which the kernel takes for written, may
// not be on disk. The note itself need not reach the disk: a power cut that takes
// the note takes these pages too.
func MarkFailed(file string, cause error) error {
	return os.WriteFile(file+lockSuffix, []byte(cause.Error()+"\n"), 0o600)
}

// failure returns the note of MarkFailed, or "".
func failure(file string) (string, error) {
	note, err := os.ReadFile(file + lockSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSuffix(string(note), "\n"), err
}

// Recover copies the whole log into the file where the last process that wrote ended
// with a note of MarkFailed. The log holds all writes that were acknowledged since the
// file was last known to be on disk. But the index, in which SQLite notes how much of
// the log it has copied, may say that they are in the file. The kernel may say so too:
// it reports a lost page once, and then takes the page in its memory for written. So
// the log itself is written once more. No other process may have the file open, since
// the index would live on with that process.
func Recover(ctx context.Context, file string) error {
	lock := Lock(file)
	defer lock.Close()
	note, err := failure(file)
	for end := time.Now().Add(BusyTimeout * time.Millisecond); err == nil && note != ""; note, err = failure(file) {
		// Another start may be doing it. Its note is gone then.
		alone, err := lock.TryLock()
		if alone {
			break
		}
		if err != nil || ctx.Err() != nil || time.Now().After(end) {
			return errors.Join(errOthers(note), err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil || note == "" {
		return err
	}
	// SQLite then keeps the index in its own memory, made from the log
	// (https://www.sqlite.org/wal.html#use_of_wal_without_shared_memory).
	alone := append([]Pragma{{"locking_mode", "EXCLUSIVE", "exclusive"}}, WriterPragmas...)
	err = With(Address(file, alone), func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "BEGIN EXCLUSIVE; COMMIT"); err != nil {
			return err
		}
		if err := rewrite(file + LogSuffix); err != nil {
			return err
		}
		return FoldAll(ctx, db)
	})
	switch {
	case IsBusy(err):
		return errOthers(note)
	case err != nil:
		return fmt.Errorf("the process before ended since %s; its log is not in the file yet: %w", note, err)
	}
	return ForgetFailed(file)
}

// ForgetFailed removes the note of MarkFailed.
func ForgetFailed(file string) error { return os.Truncate(file+lockSuffix, 0) }

// CheckFailed refuses a file that waits for Recover. A user who may not read the note
// is not asked to heed it.
func CheckFailed(file string) error {
	note, err := failure(file)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err == nil && note != "" {
		err = fmt.Errorf("the last process that wrote to it ended since %s; start petstore serve on it once, which brings its log into the file", note)
	}
	return err
}

func errOthers(note string) error {
	return fmt.Errorf("the process before ended since %s; end all others that have the file open (fuser names them), so that the log can be read anew", note)
}

// rewrite writes the file once more as it is, and to disk.
func rewrite(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(io.NewOffsetWriter(f, 0), f); err != nil {
		return err
	}
	return f.Sync()
}

// FoldAll copies all of the log into the file, and both are on disk then.
func FoldAll(ctx context.Context, db *sql.DB) error {
	var busy bool
	var pages, folded int
	err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &folded)
	if err == nil && busy {
		err = errors.New("another process reads from it")
	}
	return err
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// Backup writes a snapshot of the database at path to the file named to, even
// while servers write. The file appears under that name only once it is complete,
// verified and on disk, and with an error only if Report.Path is set. With force,
// it may replace an existing backup.
func Backup(ctx context.Context, path, to string, force bool) (r Report, err error) {
	file, err := resolve(path)
	target, targetErr := CheckTarget(file, to, force)
	if err := cmp.Or(err, targetErr); err != nil {
		return Report{}, err
	}
	f, r, err := writeCopy(ctx, path, target, file)
	if err != nil {
		return Report{}, fmt.Errorf("cannot write the backup: %w", err)
	}
	defer discard(f)
	if _, err := CheckTarget(file, target, force); err != nil { // another program may have created it meanwhile
		return Report{}, err
	}
	if err := os.Rename(f.Name(), target); err != nil {
		return Report{}, err
	}
	r.Path = to
	if err := syncDir(target); err != nil {
		return r, fmt.Errorf("the backup is complete, but a power cut may undo that: %w", err)
	}
	if info, _ := os.Stat(file + lockSuffix); info == nil {
		return r, nil // a backup of a backup
	}
	err = withSource(path, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "INSERT INTO backups (finished_at) VALUES (?)", time.Now().Unix())
		return err
	})
	if err != nil {
		err = fmt.Errorf("the backup is complete, but its time could not be recorded in the database: %w", err)
	}
	return r, err
}

// Restore replaces the database at path with a verified copy of the backup named
// from. It fails while any program has the database open, and, without force, if
// there is a database. It was replaced, even with an error, if Report.Path is set.
func Restore(ctx context.Context, path, from string, force bool) (r Report, err error) {
	file, err := resolve(path)
	source, sourceErr := resolve(from)
	if err := cmp.Or(err, sourceErr); err != nil {
		return Report{}, err
	}
	_, err = os.Stat(source)
	if err := cmp.Or(err, checkNames(file)); err != nil {
		return Report{}, err
	}
	if source == file {
		return Report{}, fmt.Errorf("%s is the database itself, not a backup", from)
	}
	lock := newLock(file)
	defer lock.Close()
	switch alone, err := lock.TryLock(); {
	case err != nil:
		return Report{}, fmt.Errorf("cannot lock %s: %w", path, err)
	case !alone:
		return Report{}, fmt.Errorf("%s: a server or a command %w", path, ErrOpen)
	}
	if !force {
		if err := checkLoneLog(file); err != nil {
			return Report{}, err
		}
		if info, _ := os.Stat(file); info != nil && info.Size() > 0 {
			return Report{}, fmt.Errorf("%s %w", path, ErrExists)
		}
	}
	f, r, err := writeCopy(ctx, from, file, file)
	if err != nil {
		return Report{}, fmt.Errorf("%s cannot be restored, and %s is unchanged: %w", from, path, err)
	}
	defer discard(f)
	release, err := takeOver(file)
	if err != nil {
		return Report{}, fmt.Errorf("%s: another program, such as a shell, %w: %w", path, ErrOpen, err)
	}
	defer release()
	// SQLite would apply the journal of an unreadable file to the new one.
	if err := remove(file + journalSuffix); err != nil {
		return Report{}, err
	}
	if runtime.GOOS == "windows" { // it does not replace an open file
		release()
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return Report{}, err
	}
	r.Path = from
	// A restore that is killed before the log of an unreadable file is removed must be
	// repeated with force; see checkLog.
	if err := errors.Join(syncDir(file), remove(file+logSuffix), remove(file+indexSuffix), syncDir(file)); err != nil {
		return r, fmt.Errorf("%s is restored, but %w: %w", path, ErrMayNotLast, err)
	}
	return r, nil
}

// takeOver copies the log of the database into it, which fails with busy while
// another program has it open, and keeps others from writing until release is
// called. It does nothing to a file that SQLite cannot read or to another's log.
func takeOver(file string) (release func(), err error) {
	if info, err := os.Stat(file); err != nil || info.Size() == 0 || checkLog(file) != nil {
		return func() {}, nil
	}
	db := connect(file, writerPragmas)
	_, err = db.Exec("PRAGMA journal_mode=DELETE; BEGIN IMMEDIATE")
	if isBusy(err) {
		return nil, errors.Join(err, db.Close())
	}
	return func() { _ = db.Close() }, nil
}

// CheckTarget returns the name of the file to write, which is where a symbolic
// link leads. It rejects a name to which a command must not write, such as that of
// the database at path, of any other store, or, without force, of any file.
func CheckTarget(path, to string, force bool) (file string, err error) {
	if file, err = resolve(to); err != nil {
		return "", err
	}
	for _, suffix := range []string{lockSuffix, logSuffix, journalSuffix} {
		if _, err := os.Stat(file + suffix); err == nil {
			return "", fmt.Errorf("%s may be %w, because %s is beside it", to, ErrStoreFile, file+suffix)
		}
	}
	store, _ := os.Stat(path)
	info, _ := os.Stat(file) // writing reports any error but that there is no file
	switch {
	case os.SameFile(store, info):
		return "", fmt.Errorf("%s is the database itself, %w", to, ErrStoreFile)
	case info != nil && !force:
		return "", fmt.Errorf("%s %w", to, ErrExists)
	}
	return file, nil
}

// writeCopy writes a verified copy of the database at path to a new file beside target,
// with the owner of the database called owner, and syncs it. VACUUM INTO is one
// transaction: it sees no later commits, nor do they make it start over.
func writeCopy(ctx context.Context, path, target, owner string) (f *os.File, r Report, err error) {
	f, err = os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return nil, r, err
	}
	err = withSource(path, func(db *sql.DB) error {
		if _, err := db.ExecContext(ctx, "VACUUM INTO ?", address(f.Name())); err != nil {
			return fmt.Errorf("copying it to %s failed: %w", filepath.Dir(target), err)
		}
		return withDB("the copy", f.Name(), func(db *sql.DB) error {
			r, err = inspect(ctx, db)
			return err
		})
	})
	// Earlier, Linux would not let SQLite open the file in a folder such as /tmp.
	setOwner(f, owner)
	if err = cmp.Or(err, f.Sync()); err != nil {
		discard(f)
	}
	return f, r, err
}

// discard closes f and removes it, unless it has been renamed.
func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
	_ = os.Remove(f.Name() + journalSuffix)
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
)

// Restore replaces the database at path with a verified copy of the backup named
// from. It fails while any program has the database open. Without force, it also
// fails if the database holds pets or keys or cannot be read. The database was
// replaced, even with an error, if Report.Path is set.
//
// A rename replaces the old database with the new one. The log of an unreadable
// database is removed after that. A restore that is killed in between must be
// repeated with force, because nothing else removes a log; see checkLog.
func Restore(ctx context.Context, path, from string, force bool) (r Report, err error) {
	file, err := resolve(path)
	if err != nil {
		return Report{}, err
	}
	if source, err := resolve(from); err != nil || source == file {
		return Report{}, cmp.Or(err, fmt.Errorf("%s is the database itself, not a backup", from))
	}
	_, err = os.Stat(from)
	if err := cmp.Or(err, checkNames(file)); err != nil {
		return Report{}, err
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
		if err := checkReplaceable(ctx, path, file); err != nil {
			return Report{}, err
		}
	}
	_ = os.Remove(file + restoreSuffix) // of a killed restore
	f, err := os.OpenFile(file+restoreSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Report{}, err
	}
	defer discard(f)
	if err := withSource(from, func(db *sql.DB) error {
		r, err = snapshot(ctx, db, f, file)
		return err
	}); err != nil {
		return r, fmt.Errorf("%s cannot be restored, and %s is unchanged: %w", from, path, err)
	}
	release, err := takeOver(file)
	if err != nil {
		return Report{}, fmt.Errorf("%s: another program, such as a shell, %w: %w", path, ErrOpen, err)
	}
	defer release()
	// The journal of an unreadable file must not be applied to the new one.
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
	if err := errors.Join(syncDir(file), remove(file+logSuffix), remove(file+indexSuffix), syncDir(file)); err != nil {
		return r, fmt.Errorf("%s is restored, but %w: %w", path, ErrMayNotLast, err)
	}
	return r, nil
}

// checkReplaceable returns an error if the database holds pets or keys or cannot
// be read. The caller must hold the lock exclusively.
func checkReplaceable(ctx context.Context, path, file string) error {
	if err := checkLog(file); err != nil {
		return explain(path, err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		return nil
	}
	return withDB(path, file, func(db *sql.DB) error {
		if _, err := schemaVersion(ctx, db); err != nil {
			return err
		}
		var pets, keys int
		err := db.QueryRowContext(ctx, countAll).Scan(&pets, &keys)
		if pets+keys > 0 {
			err = fmt.Errorf("it holds data (pets: %d, keys: %d), and %w", pets, keys, ErrHoldsData)
		}
		return err
	}, "mode=rw")
}

// takeOver copies the log of the database into it, which fails with busy while
// another program has it open, and keeps others from writing until release is
// called. It does nothing to a file that SQLite cannot read or to another's log.
func takeOver(file string) (release func(), err error) {
	if info, err := os.Stat(file); err != nil || info.Size() == 0 || checkLog(file) != nil {
		return func() {}, nil
	}
	db := connect(file, writerPragmas, "mode=rw")
	_, err = db.Exec("PRAGMA journal_mode=DELETE; BEGIN IMMEDIATE")
	if isBusy(err) {
		return nil, errors.Join(err, db.Close())
	}
	return func() { _ = db.Close() }, nil
}

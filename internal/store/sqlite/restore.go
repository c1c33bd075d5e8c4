package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Restore replaces the database at path with a copy of the backup named from,
// after verifying the backup and the copy. It fails while a process has the
// database open. Without force, it also fails if the database holds pets or keys
// or cannot be read.
//
// A rename replaces the old database with the new one. A log left over from the
// old database is ignored; see recoverLog.
func Restore(ctx context.Context, path, from string, force bool, progress func(done, total int64)) (r Report, err error) {
	file, err := resolve(path)
	if err != nil {
		return Report{}, err
	}
	if err := checkBackup(path, from); err != nil {
		return Report{}, err
	}
	lock := newLock(file)
	defer lock.Close()
	switch alone, err := lock.TryLock(); {
	case err != nil:
		return Report{}, fmt.Errorf("cannot lock %s: %w", path, err)
	case !alone:
		return Report{}, fmt.Errorf("a server or a command has %s open; stop it, then restore again", path)
	}
	if err := checkReplaceable(ctx, path, file); err != nil && !force {
		return Report{}, err
	}
	f, err := os.OpenFile(file+restoreSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return Report{}, err
	}
	defer discard(f)
	err = withSource(ctx, from, func(db *sql.DB) error {
		if r, err = inspect(ctx, db); err == nil {
			r, err = snapshot(ctx, db, f, progress)
		}
		return err
	})
	r.Path = from
	if err != nil {
		return r, fmt.Errorf("%s cannot be restored, and %s is unchanged: %w", from, path, err)
	}
	// If the old file was readable, SQLite has already removed its journal. If it
	// was not, the journal must not be applied to the new file.
	if err := os.Remove(file + "-journal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("%s is unchanged: %w", path, err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return r, fmt.Errorf("%s is unchanged: %w", path, err)
	}
	if err := errors.Join(syncDir(file), removeLog(file)); err != nil {
		return r, fmt.Errorf("%s is restored, but a power cut may undo that: %w", path, err)
	}
	return r, nil
}

// checkBackup rejects a file that cannot be a backup of the database at path.
func checkBackup(path, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("cannot read the backup: %w", err)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s is empty, so it is not a backup", from)
	}
	ours, err := IsStoreFile(path, from)
	if ours {
		return fmt.Errorf("%s is the database itself, or a part of it, not a backup", from)
	}
	return err
}

// checkReplaceable returns an error if the database holds pets or keys or cannot
// be read. The caller must hold the lock exclusively.
func checkReplaceable(ctx context.Context, path, file string) error {
	var pets, keys int64
	err := recoverLog(file)
	if info, statErr := os.Stat(file); err == nil && !errors.Is(statErr, fs.ErrNotExist) && (statErr != nil || info.Size() > 0) {
		err = withDB(path, file, func(db *sql.DB) error {
			if _, err := schemaVersion(ctx, db); err != nil {
				return err
			}
			return db.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM keys)").Scan(&pets, &keys)
		}, "mode=rw")
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; replace it with --force", err)
	case pets+keys > 0:
		return fmt.Errorf("%s holds %d animals and %d keys; replace it with --force, which loses those that are not in the backup", path, pets, keys)
	}
	return nil
}

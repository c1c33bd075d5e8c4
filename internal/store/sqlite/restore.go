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
// after verifying both. It fails while a process has the database open, and,
// without force, if the database holds pets or keys or cannot be read.
//
// The database is the old one until the rename, and the new one after it. A log
// left over from the old database is then ignored: see recoverLog.
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
		return r, fmt.Errorf("%s cannot be restored, and %s is as it was: %w", from, path, err)
	}
	// If the old file was readable, SQLite has removed its journal. Otherwise the
	// journal must not be applied to the new file.
	if err := os.Remove(file + "-journal"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("%s is as it was: %w", path, err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return r, fmt.Errorf("%s is as it was: %w", path, err)
	}
	if err := errors.Join(syncDir(file), removeLog(file)); err != nil {
		return r, fmt.Errorf("%s is the new file, and whole, but a power cut may undo that: %w", path, err)
	}
	return r, nil
}

// checkBackup rejects what cannot be a backup of the database at path.
func checkBackup(path, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("cannot read the backup: %w", err)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s is empty, so it is no backup", from)
	}
	ours, err := IsStoreFile(path, from)
	if ours {
		return fmt.Errorf("%s is the database itself, and no backup of it", from)
	}
	return err
}

// checkReplaceable returns an error if the database holds pets or keys or cannot
// be read. The caller has the lock alone.
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
		return fmt.Errorf("%s holds %d animals and %d keys; replace it with --force, which loses those the backup does not have", path, pets, keys)
	}
	return nil
}

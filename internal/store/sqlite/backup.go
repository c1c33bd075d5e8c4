package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Backup writes a snapshot of the database at path to the file named to, even
// while servers write. The file appears under that name only once it is complete,
// verified and on disk, and with an error only if Report.Path is set. With force,
// it may replace an existing backup.
func Backup(ctx context.Context, path, to string, force bool, progress func(done, total int64)) (r Report, err error) {
	file, err := resolve(path)
	if err == nil {
		err = checkTarget(file, to, force)
	}
	if err != nil {
		return Report{}, err
	}
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return Report{}, fmt.Errorf("cannot write the backup: %w", err)
	}
	defer discard(f)
	giveToOwner(f, file)
	err = withSource(ctx, path, func(db *sql.DB) error {
		if r, err = snapshot(ctx, db, f, progress); err != nil {
			return err
		}
		if err := checkTarget(file, to, force); err != nil { // another program may have created it meanwhile
			return err
		}
		if err := os.Rename(f.Name(), to); err != nil {
			return err
		}
		r.Path = to
		if err := syncDir(to); err != nil {
			return fmt.Errorf("the backup is complete, but a power cut may undo that: %w", err)
		}
		if info, _ := os.Stat(file + lockSuffix); info == nil {
			return nil // a backup of a backup
		}
		_, err := db.Exec("INSERT INTO backups (finished_at) VALUES (?)", time.Now().Unix())
		if err != nil {
			return fmt.Errorf("the backup is complete, but its time could not be recorded in the database: %w", err)
		}
		return nil
	})
	return r, err
}

// checkTarget rejects a target that may not be replaced.
func checkTarget(file, to string, force bool) error {
	if ours, err := IsStoreFile(file, to); err != nil {
		return err
	} else if ours {
		return fmt.Errorf("%s is the database itself, or a part of it; choose another name", to)
	}
	if err := checkSuffix(to); err != nil {
		return fmt.Errorf("cannot write %s: %w", to, err)
	}
	for _, suffix := range []string{lockSuffix, logSuffix} {
		if _, err := os.Stat(to + suffix); err == nil {
			return fmt.Errorf("%s is a store, or was one, since %s is beside it; choose another name", to, to+suffix)
		}
	}
	info, err := os.Stat(to)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("cannot write %s: it is not a regular file", to)
	case !force:
		return fmt.Errorf("%s already exists; choose another name, or replace it with --force", to)
	}
	return nil
}

// IsStoreFile reports whether candidate is the database at path or one of the
// files that belong to it, whether by name or because it is the same file.
func IsStoreFile(path, candidate string) (bool, error) {
	file, err := resolve(path)
	if err != nil {
		return false, err
	}
	name := candidate
	if dir, err := filepath.EvalSymlinks(filepath.Dir(candidate)); err == nil {
		name = filepath.Join(dir, filepath.Base(candidate))
	}
	there, statErr := os.Stat(candidate)
	for _, suffix := range append([]string{"", restoreSuffix + journalSuffix}, suffixes...) {
		if absolute(name) == absolute(file+suffix) {
			return true, nil
		}
		if info, err := os.Stat(file + suffix); err == nil && statErr == nil && os.SameFile(info, there) {
			return true, nil
		}
	}
	return false, nil
}

// snapshot copies the database to f, verifies the copy and syncs it to disk.
// VACUUM INTO is one transaction: it does not see later commits, nor do they
// make it start over. It also fails on most kinds of damage.
func snapshot(ctx context.Context, db *sql.DB, f *os.File, progress func(done, total int64)) (r Report, err error) {
	if _, err := schemaVersion(ctx, db); err != nil {
		return Report{}, err
	}
	var total int64
	if err := db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&total); err != nil {
		return Report{}, err
	}
	done := make(chan error, 1)
	go func() {
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", address(f.Name(), nil))
		done <- err
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for copying := true; copying; {
		select {
		case err = <-done:
			copying = false
		case <-tick.C:
			if info, err := f.Stat(); err == nil {
				tell(progress, min(info.Size(), total), total)
			}
		}
	}
	if err != nil {
		return Report{}, fmt.Errorf("the copy in %s failed: %w", filepath.Dir(f.Name()), err)
	}
	tell(progress, total, total)
	err = withDB("the copy", f.Name(), func(db *sql.DB) error {
		r, err = inspect(ctx, db)
		return err
	}, "mode=ro", "immutable=1")
	return r, errors.Join(err, f.Sync())
}

// discard closes f and removes it, unless it has been renamed.
func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
	_ = os.Remove(f.Name() + journalSuffix)
}

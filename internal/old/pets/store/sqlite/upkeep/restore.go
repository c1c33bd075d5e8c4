package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
	"example.com/petstore/internal/old/pets/wholefile"
	"example.com/petstore/internal/old/reason"
)

// Restore puts a copy of a backup in the place of the database at path, once
// the copy was checked. It refuses while a server holds the database. Unless force
// allows it, it also refuses where the database holds pets or cannot be read. Whatever
// fails, the database is the whole old one or the whole new one. progress is told the
// part that is copied, 0 to 1.
func Restore(ctx context.Context, path, backup string, force bool, progress func(part float64)) (report Report, err error) {
	file, err := dbfile.Place(path)
	if err != nil {
		return Report{}, err
	}
	lock := dbfile.Lock(file)
	defer lock.Close()
	switch ok, err := lock.TryLock(); {
	case err != nil:
		return Report{}, fmt.Errorf("cannot lock %s: %w", path, err)
	case !ok:
		return Report{}, fmt.Errorf("a server, or a command, holds %s; stop it, then restore again", path)
	}
	if err := replaceable(ctx, path, file, force); err != nil {
		return Report{}, err
	}
	if err := errors.Join(checkBackup(backup, file), checkAside(file)); err != nil {
		return Report{}, err
	}
	restored, err := wholefile.Create(file, true)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, restored.Discard()) }()
	if err := copyBackup(ctx, backup, restored, progress); err != nil {
		return Report{}, err
	}
	if report, err = checkFile(ctx, restored.Name()); err != nil {
		err = dbfile.Explain(backup, err)
	} else {
		err = report.Err()
	}
	if err != nil {
		return report, fmt.Errorf("%s cannot be restored, and %s is as it was: %w", backup, path, err)
	}
	return report, swap(ctx, restored, file)
}

// replaceable refuses a database with pets in it, or one that cannot be read.
func replaceable(ctx context.Context, path, file string, force bool) error {
	if info, err := os.Stat(file); force || errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	var pets int64
	err := dbfile.CheckFailed(file)
	if err == nil {
		err = dbfile.With(dbfile.Address(file, dbfile.ReaderPragmas)+"&mode=rw", func(db *sql.DB) error {
			if err := dbfile.CheckOwner(ctx, db); err != nil {
				return err
			}
			return db.QueryRowContext(ctx, "SELECT count(*) FROM pets").Scan(&pets)
		})
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; replace it with --force", dbfile.Explain(path, err))
	case pets > 0:
		return fmt.Errorf("%s holds %d animals; replace it with --force, which loses those the backup does not have", path, pets)
	}
	return nil
}

// checkBackup refuses what cannot be a backup of the database.
func checkBackup(backup, file string) error {
	info, err := os.Stat(backup)
	if err != nil {
		return fmt.Errorf("cannot read the backup %s: %w", backup, reason.Of(err))
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s is empty, so it is no backup", backup)
	}
	if now, err := os.Stat(file); err == nil && os.SameFile(info, now) {
		return fmt.Errorf("%s is the database itself, and no backup of it", backup)
	}
	return nil
}

// copyBackup copies the backup, and a log that may lie beside it, and closes the copy.
func copyBackup(ctx context.Context, backup string, to *wholefile.File, progress func(float64)) error {
	if err := copyFile(ctx, to.File, backup, progress); err != nil {
		return err
	}
	if _, err := os.Stat(backup + dbfile.LogSuffix); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	log, err := os.OpenFile(to.Name()+dbfile.LogSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return copyFile(ctx, log, backup+dbfile.LogSuffix, progress)
}

// copyFile copies the file called from and closes to.
func copyFile(ctx context.Context, to *os.File, from string, progress func(float64)) (err error) {
	defer func() { err = errors.Join(err, to.Close()) }()
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	const step = 4 << 20
	for done := int64(0); ctx.Err() == nil; {
		n, err := io.CopyN(to, f, step)
		done += n
		progress(float64(done) / float64(max(info.Size(), 1)))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot copy %s: %w", from, reason.Of(err))
		}
	}
	return ctx.Err()
}

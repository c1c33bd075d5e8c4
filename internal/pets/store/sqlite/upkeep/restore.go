package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"example.com/petstore/internal/pets/store/sqlite/dbfile"
	"example.com/petstore/internal/pets/wholefile"
)

// asideSuffix is added to the name of the database that a restore replaces,
// until it is done.
const asideSuffix = "-replaced"

// Restore puts a copy of a backup in the place of the database at path, once
// the copy was checked. It refuses while a server holds the database, and where
// that holds pets, or cannot be read, unless force allows it. Whatever fails,
// the database is the old one, or else the whole new one. progress is told how
// much is copied, 0 to 1.
func Restore(ctx context.Context, path, backup string, force bool, progress func(part float64)) (Report, error) {
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
	temporary, err := copyBackup(ctx, backup, file, progress)
	if err != nil {
		return Report{}, err
	}
	defer removeAll(temporary) // once it has its name, there is nothing to remove
	report, err := checkFile(ctx, temporary)
	if err != nil {
		err = dbfile.Explain(backup, err)
	} else {
		err = report.Err()
	}
	if err != nil {
		return report, fmt.Errorf("%s cannot be restored, and %s is as it was: %w", backup, path, err)
	}
	return report, swap(temporary, file)
}

// replaceable refuses a database with pets in it, or one that cannot be read.
func replaceable(ctx context.Context, path, file string, force bool) error {
	if info, err := os.Stat(file); force || errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	db, err := sql.Open("sqlite", dbfile.Address(file, dbfile.ReaderPragmas)+"&mode=rw")
	if err != nil {
		return err
	}
	var pets int64
	err = dbfile.CheckOwner(ctx, db)
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT count(*) FROM pets").Scan(&pets)
	}
	switch err := errors.Join(err, db.Close()); {
	case err != nil:
		return fmt.Errorf("%w; replace it with --force", dbfile.Explain(path, err))
	case pets > 0:
		return fmt.Errorf("%s holds %d animals; replace it with --force, which loses those the backup does not have", path, pets)
	}
	return nil
}

// copyBackup copies the backup, and a log that may lie beside it, to a file
// beside the database.
func copyBackup(ctx context.Context, backup, file string, progress func(float64)) (name string, err error) {
	info, err := os.Stat(backup)
	if err != nil {
		return "", fmt.Errorf("cannot read the backup: %w", err)
	}
	if info.Size() == 0 {
		return "", fmt.Errorf("%s is empty, so it is no backup", backup)
	}
	if now, err := os.Stat(file); err == nil && os.SameFile(info, now) {
		return "", fmt.Errorf("%s is the database itself, and no backup of it", backup)
	}
	temporary, err := wholefile.Temporary(file)
	if err != nil {
		return "", fmt.Errorf("cannot write beside %s: %w", file, err)
	}
	name = temporary.Name()
	defer func() {
		if err != nil {
			removeAll(name)
		}
	}()
	if err := copyFile(ctx, temporary, backup, progress); err != nil {
		return name, err
	}
	if _, err := os.Stat(backup + dbfile.LogSuffix); errors.Is(err, fs.ErrNotExist) {
		return name, nil
	}
	log, err := os.OpenFile(name+dbfile.LogSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return name, err
	}
	return name, copyFile(ctx, log, backup+dbfile.LogSuffix, progress)
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
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot copy %s: %w", from, err)
		}
		progress(float64(done) / float64(max(info.Size(), 1)))
	}
	return ctx.Err()
}

// swap gives the new file the name of the database. The old one has a second
// name meanwhile. Its log must be gone before the new one has its name: SQLite
// would take it for the new one's.
func swap(temporary, file string) error {
	aside := file + asideSuffix
	if err := removeLeftover(aside); err != nil {
		return err
	}
	if err := foldLog(file); err != nil { // as with a damaged one, which is kept with its log
		if err := os.Rename(file+dbfile.LogSuffix, aside+dbfile.LogSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Link(file, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err := os.Rename(file, aside); err != nil { // where the file system has no links
			return fmt.Errorf("cannot keep %s aside: %w", file, err)
		}
	}
	for _, suffix := range []string{dbfile.LogSuffix, dbfile.IndexSuffix, "-journal"} {
		if err := os.Remove(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := wholefile.SyncFolder(file); err != nil {
		return err
	}
	if err := wholefile.Rename(temporary, file); err != nil {
		return fmt.Errorf("cannot put the new file in its place; the old database is at %s: %w", aside, err)
	}
	removeAll(aside)
	return nil
}

// removeLeftover removes the files of a restore that was killed, unless they are the
// only copy of the old database.
func removeLeftover(aside string) error {
	file := aside[:len(aside)-len(asideSuffix)]
	if _, err := os.Stat(aside); err != nil {
		return nil
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("a restore was interrupted, and the old database is at %s; move it away, or back to %s, first", aside, file)
	}
	removeAll(aside)
	return nil
}

// foldLog has SQLite bring the log into the file.
func foldLog(file string) error {
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	db, err := sql.Open("sqlite", dbfile.Address(file, dbfile.WriterPragmas))
	if err != nil {
		return err
	}
	var busy, pages, folded int
	err = db.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &folded)
	return errors.Join(err, db.Close())
}

// removeAll removes a database and SQLite's files beside it.
func removeAll(file string) {
	for _, suffix := range []string{"", dbfile.LogSuffix, dbfile.IndexSuffix, "-journal"} {
		_ = os.Remove(file + suffix) // mostly there is none
	}
}

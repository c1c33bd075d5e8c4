package upkeep

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"example.com/petstore/internal/old/pets/store/sqlite/dbfile"
	"example.com/petstore/internal/old/pets/wholefile"
	"example.com/petstore/internal/old/reason"
)

// asideSuffix is added to the name of a database, and to that of its log, while a
// restore replaces a database whose log cannot be folded.
const asideSuffix = "-replaced"

// swap gives the new file the name of the database. The log of the old one must be gone
// before that: SQLite would take it for the new one's.
func swap(ctx context.Context, restored *wholefile.File, file string) error {
	kept := ""
	if err := foldLog(ctx, file); err != nil && hasLog(file) {
		if kept, err = keepAside(file); err != nil {
			return err
		}
	}
	err := removeLog(file)
	if err == nil {
		err = restored.Commit()
	}
	if err != nil {
		return explainSwap(err, file, kept)
	}
	if err := dbfile.ForgetFailed(file); err != nil {
		return fmt.Errorf("%s is the new file, but the note of the old one's failure could not be removed: %w", file, reason.Of(err))
	}
	if kept != "" {
		return errors.Join(os.Remove(kept), os.Remove(kept+dbfile.LogSuffix))
	}
	return nil
}

// foldLog has SQLite bring the log, if there is one, into the file.
func foldLog(ctx context.Context, file string) error {
	if !hasLog(file) {
		return nil
	}
	if err := dbfile.CheckFailed(file); err != nil {
		return err
	}
	return dbfile.With(dbfile.Address(file, dbfile.WriterPragmas), func(db *sql.DB) error { return dbfile.FoldAll(ctx, db) })
}

// hasLog reports whether the database is there, and a part of it in its log.
func hasLog(file string) bool {
	for _, name := range []string{file, file + dbfile.LogSuffix} {
		if info, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
			return false
		}
	}
	return true
}

// keepAside gives second names to a database and its log, which are of use only
// together, and returns that of the database.
func keepAside(file string) (aside string, err error) {
	aside = file + asideSuffix
	for _, suffix := range []string{dbfile.LogSuffix, ""} {
		if err := os.Link(file+suffix, aside+suffix); err != nil {
			return "", fmt.Errorf("the log of %s cannot be folded into it, and not be kept aside: %w; move both away, then restore again", file, reason.Of(err))
		}
	}
	return aside, nil
}

// checkAside refuses where a restore that was killed has kept a database aside: it may
// be the only whole one.
func checkAside(file string) error {
	aside := file + asideSuffix
	for _, suffix := range []string{dbfile.LogSuffix, ""} {
		if _, err := os.Lstat(aside + suffix); err == nil {
			return fmt.Errorf("a restore was interrupted, and has kept the old database at %s; move it, and a log beside it, away first", aside)
		}
	}
	return nil
}

// removeLog removes SQLite's files beside the database, and puts that on disk.
func removeLog(file string) error {
	for _, suffix := range []string{dbfile.LogSuffix, dbfile.IndexSuffix, "-journal"} {
		if err := os.Remove(file + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return wholefile.SyncFolder(file)
}

// explainSwap says which of the two files stands.
func explainSwap(err error, file, kept string) error {
	_, unsynced := errors.AsType[*wholefile.UnsyncedError](err)
	switch {
	case kept != "":
		return fmt.Errorf("%w; the old database is at %s", reason.Of(err), kept)
	case unsynced:
		return err
	}
	return fmt.Errorf("%s is as it was: %w", file, reason.Of(err))
}

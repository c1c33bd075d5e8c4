package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Report describes a database that was read in full.
type Report struct {
	Path                      string // the backup that was written or restored
	Schema, Pets, Keys, Bytes int64
}

// Backup writes a snapshot of the database at path to the file named to, even while
// servers write. The file appears under that name only once it is complete, verified
// and on disk, and with an error only if Report.Path is set. force allows replacing one.
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
		if err := checkLog(file); err != nil {
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
	old, err := takeOver(file)
	if err != nil {
		return Report{}, fmt.Errorf("%s: another program, such as a shell, %w: %w", path, ErrOpen, err)
	}
	defer old.Close()
	// SQLite would apply the journal of an unreadable file to the new one.
	if err := os.RemoveAll(file + journalSuffix); err != nil {
		return Report{}, err
	}
	if runtime.GOOS == "windows" { // it does not replace an open file
		_ = old.Close()
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return Report{}, err
	}
	r.Path = from
	// A restore that is killed before the log of an unreadable file is removed must be
	// repeated with force; see checkLog.
	if err := errors.Join(syncDir(file), os.RemoveAll(file+logSuffix), os.RemoveAll(file+indexSuffix), syncDir(file)); err != nil {
		return r, fmt.Errorf("%s is restored, but %w: %w", path, ErrMayNotLast, err)
	}
	return r, nil
}

// takeOver copies the log of the database into it, which fails with busy while another
// program has it open, and keeps others from writing until the connection is closed. It
// does nothing to a file that SQLite cannot read or to another's log.
func takeOver(file string) (*sql.DB, error) {
	db := connect(file, writerPragmas)
	if info, err := os.Stat(file); err != nil || info.Size() == 0 || checkLog(file) != nil {
		return db, nil
	}
	if _, err := db.Exec("PRAGMA journal_mode=DELETE; BEGIN IMMEDIATE"); isBusy(err) {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
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

// Verify reads the whole database at path, even while servers use it, and changes
// no pets or keys. The error describes all damage.
func Verify(ctx context.Context, path string) (r Report, err error) {
	err = withSource(path, func(db *sql.DB) error {
		r, err = inspect(ctx, db)
		return err
	})
	return r, err
}

// withSource calls f with a connection to the database at path.
func withSource(path string, f func(*sql.DB) error) error {
	file, err := resolve(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w at %s", ErrNoDatabase, path)
	}
	if err := cmp.Or(checkNames(file), checkLog(file)); err != nil {
		return explain(path, err)
	}
	return withDB(path, file, f)
}

// withDB calls f with a connection to the file and closes it. Errors name path.
func withDB(path, file string, f func(*sql.DB) error) error {
	db := connect(file, writerPragmas)
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM sqlite_schema").Scan(new(int)); err != nil {
		return explain(path, err)
	}
	err := f(db)
	if isCorrupt(err) {
		err = fmt.Errorf("%w: %w", ErrDamagedPage, err)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

// inspect reads the whole database and reports on it.
func inspect(ctx context.Context, db *sql.DB) (r Report, err error) {
	if err := checkIntegrity(ctx, db); err != nil {
		return r, err
	}
	if r.Schema, err = schemaVersion(ctx, db); err != nil {
		return r, err
	}
	if r.Schema == 0 {
		return r, errors.New("the database is empty: it has no schema")
	}
	return r, db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM keys), page_count * page_size
		FROM pragma_page_count, pragma_page_size`).Scan(&r.Pets, &r.Keys, &r.Bytes)
}

// integrityCheck runs SQLite's check, and names the tables and indexes that are trees
// with a number in its descriptions of the damage.
const integrityCheck = `SELECT integrity_check || coalesce((
	SELECT ' (' || group_concat(type || ' ' || name, ', ') || ')' FROM sqlite_schema WHERE integrity_check LIKE '%Tree ' || rootpage || ' %'
), '') FROM pragma_integrity_check WHERE integrity_check <> 'ok'`

// checkIntegrity returns an error that describes all damage.
func checkIntegrity(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, integrityCheck)
	problems, err := collect(rows, err, func(row scanner, problem *string) error { return row.Scan(problem) })
	if len(problems) > 0 { // SQLite may be unable to read on
		return fmt.Errorf("it %w:\n%s", ErrDamaged, strings.Join(problems, "\n"))
	}
	return err
}

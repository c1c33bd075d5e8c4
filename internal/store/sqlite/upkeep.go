package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	if err != nil {
		return r, err
	}
	target, err := checkTarget(file, to, force)
	if err != nil {
		return Report{}, err
	}
	f, r, err := writeCopy(ctx, path, target)
	if err != nil {
		return Report{}, fmt.Errorf("cannot write the backup: %w", err)
	}
	defer discard(f)
	if err := os.Rename(f.Name(), target); err != nil {
		return Report{}, err
	}
	r.Path = to
	if err := syncDir(target); err != nil {
		return r, fmt.Errorf("the backup is complete, but a power cut may undo that: %w", err)
	}
	if err := recordBackup(ctx, file); err != nil {
		return r, fmt.Errorf("the backup is complete, but its time could not be recorded in the database: %w", err)
	}
	return r, nil
}

// recordBackup records the time of a backup in a store that this process may write. If
// the store has a log, the connection ends with the process; see Reader.Close.
func recordBackup(ctx context.Context, file string) error {
	hasLog := holdsLog(file)
	switch _, indexErr := os.Stat(file + indexSuffix); {
	case !mayWrite(file), !hasLog && hasNoLog(file), hasLog && indexErr != nil: // a backup of any kind
		return nil
	}
	db := connect(file, toWrite)
	_, err := db.ExecContext(ctx, "INSERT INTO backups (finished_at) VALUES (?)", time.Now().Unix())
	if hasLog {
		return err
	}
	return errors.Join(err, db.Close())
}

// Restore replaces the database at path with a verified copy of the backup named
// from. It fails while any program has the database open, and, without force, if
// there is a database. It was replaced, even with an error, if Report.Path is set.
func Restore(ctx context.Context, path, from string, force bool) (r Report, err error) {
	file, err := resolve(path)
	if err != nil {
		return r, err
	}
	source, err := resolve(from)
	if err != nil {
		return r, err
	}
	if source == file {
		return Report{}, fmt.Errorf("%s is the database itself, not a backup", from)
	}
	if info, _ := os.Stat(source); info == nil || info.Size() == 0 { // before a lock is made
		return Report{}, fmt.Errorf("there is no backup at %s", from)
	}
	lock := newLock(file)
	defer lock.Close()
	switch alone, err := lock.TryLock(); {
	case err != nil:
		return Report{}, fmt.Errorf("cannot lock %s: %w", path, err)
	case !alone:
		return Report{}, fmt.Errorf("%s: a server or a command has it open; stop it first", path)
	}
	err = checkFile(file, false)
	if err != nil && !(force && errors.Is(err, ErrLoneLog)) {
		return Report{}, explain(path, err)
	}
	if info, _ := os.Stat(file); !force && info != nil && info.Size() > 0 {
		return Report{}, fmt.Errorf("%s %w", path, ErrExists)
	}
	f, r, err := writeCopy(ctx, from, file)
	if err != nil {
		return Report{}, fmt.Errorf("%s cannot be restored, and %s is unchanged: %w", from, path, err)
	}
	defer discard(f)
	old, err := takeOver(file)
	if err != nil {
		return Report{}, fmt.Errorf("%s: another program, such as a shell, has it open; stop it first: %w", path, err)
	}
	defer old.Close()
	// SQLite would apply the journal of an unreadable file to the new one.
	if err := os.RemoveAll(file + journalSuffix); err != nil {
		return Report{}, err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return Report{}, err
	}
	r.Path = from
	if err := removeLog(file); err != nil {
		return r, fmt.Errorf("%s is restored, but a power cut may undo that; restore it again with --force: %w", path, err)
	}
	return r, nil
}

// removeLog removes the log of an unreadable file that was replaced, durably. A restore
// that is killed before must be repeated with force; see checkFile.
func removeLog(file string) error {
	if err := syncDir(file); err != nil {
		return err
	}
	for _, suffix := range []string{logSuffix, indexSuffix} {
		if err := os.RemoveAll(file + suffix); err != nil {
			return err
		}
	}
	return syncDir(file)
}

// takeOver copies the log of the database into it, which fails with busy while another
// program has it open, and keeps others from writing until the connection is closed. It
// does nothing to a file that SQLite cannot read or to another's log.
func takeOver(file string) (*sql.DB, error) {
	db := connect(file, toWrite)
	if checkFile(file, true) != nil {
		return db, nil
	}
	if _, err := db.Exec("PRAGMA journal_mode=DELETE; BEGIN IMMEDIATE"); isBusy(err) {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// checkTarget returns the name of the file to write, which is where a symbolic link
// leads. It rejects that of the database called file, of any other store, or, without
// force, of any file.
func checkTarget(file, to string, force bool) (target string, err error) {
	target, err = resolve(to)
	if err != nil {
		return "", err
	}
	for _, suffix := range []string{lockSuffix, logSuffix, journalSuffix} {
		if _, err := os.Stat(target + suffix); err == nil {
			return "", fmt.Errorf("%s may be a file of a store, because %s is beside it", to, target+suffix)
		}
	}
	database, _ := os.Stat(file)
	info, _ := os.Stat(target) // writing reports any error but that there is no file
	switch {
	case os.SameFile(database, info):
		return "", fmt.Errorf("%s is the database itself", to)
	case info != nil && !force:
		return "", fmt.Errorf("%s %w", to, ErrExists)
	}
	return target, nil
}

// writeCopy writes a verified copy of the database at path to a new file beside target,
// and syncs it. VACUUM INTO is one transaction: it sees no later commits, nor do they
// make it start over.
func writeCopy(ctx context.Context, path, target string) (f *os.File, r Report, err error) {
	source, err := openFile(ctx, path)
	if err != nil {
		return nil, r, err
	}
	defer source.Close()
	f, err = os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+".*")
	if err != nil {
		return nil, r, err
	}
	_, err = source.db.ExecContext(ctx, "VACUUM INTO ?", f.Name())
	if err != nil {
		err = fmt.Errorf("copying it to %s failed: %w", filepath.Dir(target), explain(path, err))
	} else if r, err = Verify(ctx, f.Name()); err == nil {
		err = f.Sync()
	}
	if err != nil {
		discard(f)
		return nil, Report{}, err
	}
	return f, r, nil
}

// discard closes f and removes it, unless it has been renamed.
func discard(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
	_ = os.Remove(f.Name() + journalSuffix)
}

// Verify reads the whole database at path, even while servers use it, and changes
// nothing. The error describes all damage.
func Verify(ctx context.Context, path string) (r Report, err error) {
	source, err := openFile(ctx, path)
	if err != nil {
		return r, err
	}
	defer source.Close()
	if err := checkIntegrity(ctx, source.db); err != nil {
		return r, explain(path, err)
	}
	if r.Schema, _, err = versions(ctx, source.db); err != nil {
		return r, explain(path, err)
	}
	if r.Schema == 0 {
		return r, fmt.Errorf("%s: the database is empty: it has no schema", path)
	}
	err = source.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM pets), (SELECT count(*) FROM keys), page_count * page_size
		FROM pragma_page_count, pragma_page_size`).Scan(&r.Pets, &r.Keys, &r.Bytes)
	return r, explain(path, err)
}

// integrityCheck runs SQLite's check, and names the tables and indexes that are trees
// with a number in its descriptions of the damage.
const integrityCheck = `SELECT integrity_check || coalesce((
	SELECT ' (' || group_concat(type || ' ' || name, ', ') || ')' FROM sqlite_schema WHERE integrity_check LIKE '%Tree ' || rootpage || ' %'
), '') FROM pragma_integrity_check WHERE integrity_check <> 'ok'`

// checkIntegrity returns an error that describes all damage.
func checkIntegrity(ctx context.Context, db *sql.DB) error {
	scan := func(row scanner, problem *string) error { return row.Scan(problem) }
	problems, err := collect(rowsOf(ctx, db, scan, integrityCheck))
	if len(problems) > 0 { // SQLite may be unable to read on
		return fmt.Errorf("it %w:\n%s", ErrDamaged, strings.Join(problems, "\n"))
	}
	return err
}

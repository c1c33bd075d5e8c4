package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/petstore/internal/db"
)

// Backup writes a snapshot of the database at path to the file named to, even while
// servers write. The file appears under that name only once it is complete, verified
// and on disk, and with an error only if Report.Path is set. force allows replacing one.
func Backup(ctx context.Context, path, to string, force bool) (r db.Report, err error) {
	source, err := openFile(ctx, path)
	if err != nil {
		return r, err
	}
	defer source.Close()
	target, err := checkTarget(source.file, to, force)
	if err != nil {
		return r, err
	}
	r, err = writeCopy(ctx, source, target, func(temp string) error { return os.Rename(temp, target) })
	if err != nil {
		return db.Report{}, fmt.Errorf("cannot write the backup: %w", err)
	}
	r.Path = to
	if err := syncDir(target); err != nil {
		return r, fmt.Errorf("the backup is complete, but a power cut may undo that: %w", err)
	}
	if err := recordBackup(ctx, source); err != nil {
		return r, fmt.Errorf("the backup is complete, but its time could not be recorded in the database: %w", err)
	}
	return r, nil
}

// recordBackup records the time of a backup of source in a store that this process may
// write. It closes source first: SQLite shares the index of the log between the connections
// of a process, and source's may be read-only. If there is a log, the new connection ends
// with the process; see Reader.Close.
func recordBackup(ctx context.Context, source *Reader) error {
	if err := source.Close(); err != nil {
		return err
	}
	file, hasLog := source.file, holdsLog(source.file)
	switch _, indexErr := os.Stat(file + indexSuffix); {
	case !mayWrite(file), !hasLog && hasNoLog(file), hasLog && indexErr != nil: // a backup of any kind
		return nil
	}
	conn := connect(file, toWrite)
	_, err := conn.ExecContext(ctx, "INSERT INTO backups (finished_at) VALUES (?)", time.Now().Unix())
	if hasLog {
		return err
	}
	return errors.Join(err, conn.Close())
}

// Restore replaces the database at path with a verified copy of the backup named
// from. It fails while any program has the database open, and, without force, if
// there is a database. It was replaced, even with an error, if Report.Path is set.
func Restore(ctx context.Context, path, from string, force bool) (r db.Report, err error) {
	file, err := resolve(path)
	if err != nil {
		return r, err
	}
	source, err := openFile(ctx, from)
	if err != nil { // not wrapped, since advice about it would name the store
		return r, fmt.Errorf("the backup cannot be read: %v", err)
	}
	defer source.Close()
	if source.file == file {
		return r, fmt.Errorf("%s is the database itself, not a backup", from)
	}
	lock := newLock(file)
	defer lock.Close()
	if alone, err := lock.TryLock(); !alone {
		return r, explain(path, cmp.Or(err, errInUse))
	}
	err = checkFile(file, false)
	if err != nil && !(force && errors.Is(err, db.ErrLoneLog)) {
		return r, explain(path, err)
	}
	if info, _ := os.Stat(file); !force && info != nil && info.Size() > 0 {
		return r, fmt.Errorf("%s %w", path, db.ErrExists)
	}
	r, err = writeCopy(ctx, source, file, func(temp string) error { return replace(file, temp) })
	if err != nil {
		return db.Report{}, fmt.Errorf("%s cannot be restored, and %s is unchanged: %w", from, path, err)
	}
	r.Path = from
	if err := removeLog(file); err != nil {
		return r, fmt.Errorf("%s is restored, but a power cut may undo that; restore it again with --force: %w", path, err)
	}
	return r, nil
}

// replace renames temp to file. SQLite first copies the log of the old file into it, which
// fails with busy while another program has it open, and then keeps others from writing.
// It does nothing to a file that it cannot read or to another's log.
func replace(file, temp string) error {
	old := connect(file, toWrite)
	defer old.Close()
	if checkFile(file, true) == nil {
		if _, err := old.Exec("PRAGMA journal_mode=DELETE; BEGIN IMMEDIATE"); isBusy(err) {
			return fmt.Errorf("another program, such as a shell, has the store open; stop it first: %w", err)
		}
	}
	// SQLite would apply the journal of an unreadable file to the new one.
	if err := os.RemoveAll(file + journalSuffix); err != nil {
		return err
	}
	return os.Rename(temp, file)
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

// checkTarget returns the name of the file to write, which is where a symbolic link
// leads. It rejects that of the database source, of any other store, or, without force,
// of any file.
func checkTarget(source, to string, force bool) (target string, err error) {
	target, err = resolve(to)
	if err != nil {
		return "", err
	}
	for _, suffix := range []string{lockSuffix, logSuffix, journalSuffix} {
		if _, err := os.Stat(target + suffix); err == nil {
			return "", fmt.Errorf("%s may be a file of a store, because %s is beside it", to, target+suffix)
		}
	}
	if target == source { // which has no other names
		return "", fmt.Errorf("%s is the database itself", to)
	}
	if _, err := os.Stat(target); err == nil && !force { // writing reports any error
		return "", fmt.Errorf("%s %w", to, db.ErrExists)
	}
	return target, nil
}

// writeCopy writes a verified copy of source to a new file beside target, syncs it and
// calls use, which may rename it. VACUUM INTO is one transaction: it sees no later
// commits, nor do they make it start over.
func writeCopy(ctx context.Context, source *Reader, target string, use func(temp string) error) (r db.Report, err error) {
	dir, name := filepath.Split(target)
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return r, err
	}
	defer func() {
		_ = f.Close()
		_ = os.Remove(f.Name()) // unless it was renamed
		_ = os.Remove(f.Name() + journalSuffix)
	}()
	if _, err := source.db.ExecContext(ctx, "VACUUM INTO ?", f.Name()); err != nil {
		return r, fmt.Errorf("copying it to %s failed: %w", dir, explain(source.file, err))
	}
	if r, err = Verify(ctx, f.Name()); err != nil {
		return r, err
	}
	if err := f.Sync(); err != nil {
		return r, err
	}
	return r, use(f.Name())
}

// Verify reads the whole database at path, even while servers use it, and changes
// nothing. The error describes all damage.
func Verify(ctx context.Context, path string) (r db.Report, err error) {
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
	for _, table := range []string{"pets", "keys"} {
		rows := db.Rows{Table: table}
		if err := source.db.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&rows.Count); err != nil {
			return r, explain(path, err)
		}
		r.Rows = append(r.Rows, rows)
	}
	err = source.db.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&r.Bytes)
	return r, explain(path, err)
}

// integrityCheck runs SQLite's check, and names the tables and indexes that are trees
// with a number in its descriptions of the damage.
const integrityCheck = `SELECT integrity_check || coalesce((
	SELECT ' (' || group_concat(type || ' ' || name, ', ') || ')' FROM sqlite_schema WHERE integrity_check LIKE '%Tree ' || rootpage || ' %'
), '') FROM pragma_integrity_check WHERE integrity_check <> 'ok'`

// checkIntegrity returns an error that describes all damage.
func checkIntegrity(ctx context.Context, conn *sql.DB) error {
	scan := func(row scanner, problem *string) error { return row.Scan(problem) }
	problems, err := collect(rowsOf(ctx, conn, scan, integrityCheck))
	if len(problems) > 0 { // SQLite may be unable to read on
		return fmt.Errorf("it %w:\n%s", db.ErrDamaged, strings.Join(problems, "\n"))
	}
	return err
}

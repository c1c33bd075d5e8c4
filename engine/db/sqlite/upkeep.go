package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/petstore/engine/db"
)

// Backup writes a snapshot of the database at path to the file named to, even while servers
// write or if its schema is altered. The file appears only once it is complete, verified and on
// disk; if Backup fails and Report.Path is empty, there is none. force allows replacing a file.
func (s *Schema) Backup(ctx context.Context, path, to string, force bool) (r db.Report, err error) {
	source, err := openFile(ctx, path)
	if err != nil {
		return r, err
	}
	defer source.Close()
	target, err := checkTarget(to, force)
	if err != nil {
		return r, err
	}
	temp, r, err := s.writeCopy(ctx, source, path, target)
	defer func() { _ = os.Remove(temp) }() // unless it was renamed
	if err == nil {
		err = os.Rename(temp, target)
	}
	if err != nil {
		return db.Report{}, fmt.Errorf("cannot write the backup: %w", err)
	}
	r.Path = to
	if err := syncDir(target); err != nil {
		return r, fmt.Errorf("the backup is complete, but a power cut may undo that: %w", err)
	}
	return r, nil
}

// Restore replaces the database at path with a verified copy of the backup named from, which
// continues with new identifiers. It fails while any program has the database open and, without
// force, if there is one. If it fails and Report.Path is empty, nothing was replaced.
func (s *Schema) Restore(ctx context.Context, path, from string, force bool) (r db.Report, err error) {
	file, err := resolve(path)
	if err != nil {
		return r, err
	}
	if same, _ := resolve(from); same == file {
		return r, fmt.Errorf("%s is the database itself, not a backup", from)
	}
	source, err := openFile(ctx, from)
	if err != nil { // not wrapped, since advice about it would name the store
		return r, fmt.Errorf("the backup cannot be read: %v", err)
	}
	defer source.Close()
	lock := newLock(file)
	defer lock.Close()
	alone, err := lock.TryLock()
	if err == nil && !alone {
		err = errors.New("a server or a command has it open; stop it first")
	}
	if err == nil {
		err = checkReplaceable(file, force)
	}
	if err != nil {
		return r, explain(path, err)
	}
	temp, r, err := s.writeCopy(ctx, source, from, file)
	defer func() { _ = os.Remove(temp) }() // unless it was renamed
	if err == nil {
		err = r.Altered
	}
	if err == nil {
		err = replace(ctx, file, temp, &r)
	}
	if err != nil {
		return db.Report{}, fmt.Errorf("%s cannot be restored, and %s is unchanged: %w", from, path, err)
	}
	r.Path = from
	if err := removeLog(file); err != nil {
		return r, fmt.Errorf("%s is restored, but a power cut may undo that; restore it again with --force: %w", path, err)
	}
	return r, nil
}

// checkReplaceable rejects a file that checkFile rejects. Only force allows replacing a database, or
// a file beside the log of another.
func checkReplaceable(file string, force bool) error {
	err := checkFile(file)
	switch {
	case err == nil && !force:
		return db.ErrExists
	case errors.Is(err, db.ErrNone), force && errors.Is(err, db.ErrLoneLog):
		return nil
	}
	return err
}

// replace renames temp to file, whose identifiers it continues. First, SQLite copies the old log
// into the old file, and locks that file.
func replace(ctx context.Context, file, temp string, r *db.Report) error {
	old := connect(file, toWrite)
	defer old.Close() // unlocks the old file, once temp has its name
	err := checkFile(file)
	if err == nil {
		_, err = old.ExecContext(ctx, "PRAGMA journal_mode=DELETE; BEGIN IMMEDIATE")
	}
	if isBusy(err) {
		return fmt.Errorf("another program, such as a shell, has the store open; stop it first: %w", err)
	}
	if err != nil {
		_ = old.Close() // nothing can be read from it
	}
	if err := raiseIDs(ctx, temp, old, r); err != nil {
		return err
	}
	// SQLite would apply the journal of an unreadable file to the new one.
	if err := os.RemoveAll(file + journalSuffix); err != nil {
		return err
	}
	return os.Rename(temp, file)
}

// lastID returns the last identifier that a table with AUTOINCREMENT assigned, or sql.ErrNoRows
// for another table. A .dump of a damaged file may lack it: then that of the last row counts.
func lastID(ctx context.Context, conn *sql.DB, table string) (id int64, err error) {
	query := `SELECT max(coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = ?1), 0),
		coalesce((SELECT max(rowid) FROM ` + table + `), 0))
		FROM sqlite_schema WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%'`
	err = conn.QueryRowContext(ctx, query, table).Scan(&id)
	return id, err
}

// farAbove is how many identifiers a restore skips if it does not know the last one.
const farAbove = 1_000_000

// raiseIDs makes the copy named temp assign identifiers that no client can remember: above those
// of the old database or, if old cannot be read, far above the copy's own.
func raiseIDs(ctx context.Context, temp string, old *sql.DB, r *db.Report) error {
	conn := connect(temp, toWrite)
	defer conn.Close()
	for i, rows := range r.Rows {
		copied, err := lastID(ctx, conn, rows.Table)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		last, err := lastID(ctx, old, rows.Table)
		if err != nil || last < copied { // a database that assigned fewer is no successor of the backup
			last = copied + farAbove
		}
		_, err = conn.ExecContext(ctx, `BEGIN; DELETE FROM sqlite_sequence WHERE name = ?1;
			INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2); COMMIT`, rows.Table, last)
		if err != nil {
			return err
		}
		r.Rows[i].LastID = last
	}
	return conn.Close()
}

// removeLog removes the log of an unreadable file that was replaced, durably. A restore
// that is killed before must be repeated with force; see checkFile.
func removeLog(file string) error {
	if err := syncDir(file); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(file+logSuffix), os.RemoveAll(file+indexSuffix)); err != nil {
		return err
	}
	return syncDir(file)
}

// checkTarget resolves the name of the file to write. It rejects a file of a store and, without
// force, any file that exists.
func checkTarget(to string, force bool) (target string, err error) {
	target, err = resolve(to)
	if err != nil {
		return "", err
	}
	for _, suffix := range suffixes {
		if _, err := os.Stat(target + suffix); err == nil {
			return "", fmt.Errorf("%s may be a file of a store, because %s is beside it", to, target+suffix)
		}
	}
	if _, err := os.Stat(target); err == nil && !force { // writing reports any error
		return "", fmt.Errorf("%s %w", to, db.ErrExists)
	}
	return target, nil
}

// writeCopy writes a verified copy of the database source, whose path is from, to a new file temp
// beside to, and syncs it. VACUUM INTO is one transaction.
func (s *Schema) writeCopy(ctx context.Context, source *sql.DB, from, to string) (temp string, r db.Report, err error) {
	dir, name := filepath.Split(to)
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return "", r, err
	}
	defer f.Close()
	temp = f.Name()
	if _, err := source.ExecContext(ctx, "VACUUM INTO ?", temp); err != nil {
		return temp, r, fmt.Errorf("copying it to %s failed: %w", dir, explain(from, err))
	}
	written := connect(temp, toWrite) // with mode=ro, SQLite would not check constraints
	r, err = s.verify(ctx, written)
	if err := errors.Join(err, written.Close()); err != nil {
		return temp, r, explain(temp, err)
	}
	return temp, r, f.Sync()
}

// Verify reads the whole database at path, even while servers use it, and changes
// nothing. The error describes all damage.
func (s *Schema) Verify(ctx context.Context, path string) (r db.Report, err error) {
	source, err := openFile(ctx, path)
	if err != nil {
		return r, err
	}
	defer source.Close()
	r, err = s.verify(ctx, source)
	return r, explain(path, cmp.Or(err, r.Altered))
}

// integrityCheck runs SQLite's check, and names the tables and indexes that are trees
// with a number in its descriptions of the damage.
const integrityCheck = `SELECT integrity_check || coalesce((
	SELECT ' (' || group_concat(type || ' ' || name, ', ') || ')' FROM sqlite_schema WHERE integrity_check LIKE '%Tree ' || rootpage || ' %'
), '') FROM pragma_integrity_check WHERE integrity_check <> 'ok'`

func (s *Schema) verify(ctx context.Context, conn *sql.DB) (r db.Report, err error) {
	problems, err := texts(ctx, conn, integrityCheck)
	if len(problems) > 0 { // SQLite may be unable to read on
		return r, fmt.Errorf("it %w:\n%s", db.ErrDamaged, strings.Join(problems, "\n"))
	}
	if err != nil {
		return r, err
	}
	if r.Schema, err = s.version(ctx, conn); err != nil {
		return r, err
	}
	altered, err := s.compare(ctx, conn, r.Schema, differences)
	if err != nil {
		return r, err
	}
	if len(altered) > 0 {
		r.Altered = fmt.Errorf("%w: it has %s", db.ErrAltered, strings.Join(altered, ", "))
	}
	tables, err := texts(ctx, conn, tableNames)
	if err != nil {
		return r, err
	}
	for _, table := range s.Tables {
		if !slices.Contains(tables, table) { // in an older schema
			continue
		}
		rows := db.Rows{Table: table}
		if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&rows.Count); err != nil {
			return r, err
		}
		r.Rows = append(r.Rows, rows)
	}
	err = conn.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&r.Bytes)
	return r, err
}

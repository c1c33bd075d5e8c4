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
// disk; if Backup fails, but not with db.ErrUnsynced, there is none. force allows replacing a file.
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
	r, err = s.writeCopy(ctx, source, path, target, func(string, db.Report) error { return nil })
	if err != nil {
		err = fmt.Errorf("writing the backup: %w", err)
	}
	return r, err
}

// Restore makes the database at path from a verified copy of the backup named from, and continues with
// new identifiers. It replaces nothing: it fails if there is a file at path, or a log beside it. If
// it fails, but not with db.ErrUnsynced, nothing was made.
func (s *Schema) Restore(ctx context.Context, path, from string) (r db.Report, err error) {
	file, err := resolve(path)
	if err != nil {
		return r, err
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
	if err != nil {
		return r, explain(path, err)
	}
	for _, name := range []string{file, file + logSuffix, file + indexSuffix, file + journalSuffix} {
		if _, err := os.Lstat(name); err == nil {
			return r, fmt.Errorf("%s %w", name, db.ErrInTheWay)
		}
	}
	r, err = s.writeCopy(ctx, source, from, file, func(temp string, r db.Report) error {
		if r.Altered != nil {
			return r.Altered
		}
		return raiseIDs(ctx, temp, r.Rows)
	})
	if err != nil {
		err = fmt.Errorf("restoring %s: %w", from, err)
	}
	return r, err
}

// skippedIDs is how many identifiers a restore skips: more than were assigned since the backup.
const skippedIDs = 1_000_000_000

// raiseIDs makes the tables with AUTOINCREMENT of the database named temp skip identifiers. A .dump of
// a damaged file may lack the last identifier: then that of the last row counts.
func raiseIDs(ctx context.Context, temp string, tables []db.Rows) error {
	conn := connect(temp, toWrite)
	defer conn.Close()
	for i, t := range tables {
		query := `INSERT OR REPLACE INTO sqlite_sequence (rowid, name, seq)
			SELECT (SELECT rowid FROM sqlite_sequence WHERE name = ?1), name,
				max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?1), 0),
					coalesce((SELECT max(rowid) FROM ` + t.Table + `), 0)) + ?2
			FROM sqlite_schema WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%' RETURNING seq`
		err := conn.QueryRowContext(ctx, query, t.Table, skippedIDs).Scan(&tables[i].LastID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return conn.Close()
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

// writeCopy writes a copy of the database source, whose path is from, to a temporary file, verifies it,
// calls finish and, once the copy is on disk, gives it the name to. VACUUM INTO is one transaction.
func (s *Schema) writeCopy(
	ctx context.Context, source *sql.DB, from, to string, finish func(temp string, r db.Report) error,
) (r db.Report, err error) {
	dir, name := filepath.Split(to)
	f, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return r, err
	}
	defer f.Close()
	temp := f.Name()
	defer func() { _ = os.Remove(temp) }() // unless it was renamed
	if _, err := source.ExecContext(ctx, "VACUUM INTO ?", temp); err != nil {
		return r, fmt.Errorf("copying it to %s failed: %w", dir, explain(from, err))
	}
	written := connect(temp, toWrite) // with mode=ro, SQLite would not check constraints
	r, err = s.verify(ctx, written)
	if err := errors.Join(err, written.Close()); err != nil {
		return r, explain(temp, err)
	}
	if err := finish(temp, r); err != nil {
		return r, err
	}
	if err := f.Sync(); err != nil {
		return r, err
	}
	if err := os.Rename(temp, to); err != nil {
		return r, err
	}
	if err := syncDir(to); err != nil {
		return r, fmt.Errorf("%s was written, but %w: %w", to, db.ErrUnsynced, err)
	}
	return r, nil
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

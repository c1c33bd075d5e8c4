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
	temp, r, err := s.writeCopy(ctx, source, path, target)
	defer func() { _ = os.Remove(temp) }() // unless it was renamed
	if err == nil {
		err = os.Rename(temp, target)
	}
	if err != nil {
		return db.Report{}, fmt.Errorf("cannot write the backup: %w", err)
	}
	if err := syncDir(target); err != nil {
		return r, fmt.Errorf("the backup is complete, but %w: %w", db.ErrUnsynced, err)
	}
	return r, nil
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
	temp, r, err := s.writeCopy(ctx, source, from, file)
	defer func() { _ = os.Remove(temp) }() // unless it was renamed
	if err == nil {
		err = r.Altered
	}
	if err == nil {
		err = raiseIDs(ctx, temp, r.Rows)
	}
	if err == nil {
		err = os.Rename(temp, file)
	}
	if err != nil {
		return db.Report{}, fmt.Errorf("%s cannot be restored: %w", from, err)
	}
	if err := syncDir(file); err != nil {
		return r, fmt.Errorf("%s is restored, but %w: %w", path, db.ErrUnsynced, err)
	}
	return r, nil
}

// skippedIDs is how many identifiers a restore skips: more than were assigned since the backup.
const skippedIDs = 1_000_000_000

// raiseIDs makes the tables with AUTOINCREMENT of the database named temp skip identifiers. A .dump of
// a damaged file may lack the last identifier: then that of the last row counts.
func raiseIDs(ctx context.Context, temp string, tables []db.Rows) error {
	conn := connect(temp, toWrite)
	defer conn.Close()
	for i, t := range tables {
		query := `SELECT max(coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = ?1), 0),
			coalesce((SELECT max(rowid) FROM ` + t.Table + `), 0))
			FROM sqlite_schema WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%'`
		var last int64
		err := conn.QueryRowContext(ctx, query, t.Table).Scan(&last)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return err
		}
		tables[i].LastID = last + skippedIDs
		_, err = conn.ExecContext(ctx, `BEGIN; DELETE FROM sqlite_sequence WHERE name = ?1;
			INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2); COMMIT`, t.Table, tables[i].LastID)
		if err != nil {
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

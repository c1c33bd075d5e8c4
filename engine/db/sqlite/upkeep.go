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

	"example.com/petstore/engine/db"
	lib "modernc.org/sqlite/lib"
)

// Read calls f with a connection to the database at path as it is: in use, at rest, left by a killed
// process, or a backup. It changes neither the database nor its log, but may leave an empty one. A
// process that has a DB of it must not call Read: closing the file releases SQLite's locks.
func (s *Schema) Read(ctx context.Context, path string, f func(Conn) error) error {
	source, err := openFile(path)
	if err != nil {
		return err
	}
	defer source.Close()
	version, err := s.version(ctx, source)
	if err != nil {
		return explain(path, err)
	}
	conn, err := s.prepare(ctx, source)
	if err != nil && version < s.newest() {
		err = db.ErrOutdated
	}
	if err == nil {
		err = f(conn)
	}
	return explain(path, err)
}

// openFile opens the file at path as it is, whatever it holds.
func openFile(path string) (*sql.DB, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	if err := checkReadable(file); err != nil {
		return nil, explain(path, err)
	}
	return connect(file, toRead), nil
}

// Backup writes a snapshot of the database at path to the file named to, even while servers write or if
// its schema is altered. The file appears once it is complete, verified and on disk; if Backup fails, but
// not with db.ErrUnsynced, there is none. With force, it replaces a file, but never one of a store.
func (s *Schema) Backup(ctx context.Context, path, to string, force bool) (r db.Report, err error) {
	source, err := openFile(path)
	if err != nil {
		return r, err
	}
	defer source.Close()
	target, err := resolve(to)
	if err != nil {
		return r, err
	}
	for _, suffix := range suffixes {
		if _, err := os.Stat(target + suffix); err == nil {
			return r, fmt.Errorf("%s may be a file of a store, because %s is beside it", to, target+suffix)
		}
	}
	if _, err := os.Stat(target); err == nil && !force { // writing reports any error
		return r, fmt.Errorf("%s %w", to, db.ErrExists)
	}
	return s.writeCopy(ctx, source, path, target, false)
}

// Restore makes the database at path from a verified copy of the backup named from, with new identifiers
// from then on. It fails if there is a file at path, or a log beside it. If it fails, but not with
// db.ErrUnsynced, nothing was made.
func (s *Schema) Restore(ctx context.Context, path, from string) (r db.Report, err error) {
	file, err := resolve(path)
	if err != nil {
		return r, err
	}
	source, err := openFile(from)
	if err != nil { // not wrapped, as below
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
	r, err = s.writeCopy(ctx, source, from, file, true)
	if errors.Is(err, db.ErrDamaged) || errors.Is(err, db.ErrAltered) { // not wrapped: advice would be about the store
		err = fmt.Errorf("the backup cannot be restored: %v", err)
	}
	return r, err
}

const skippedIDs = 1_000_000_000 // by a restore: more than were assigned since the backup

// raiseIDs makes the tables with AUTOINCREMENT skip identifiers. It rejects an altered schema. A .dump of
// a damaged file may lack the last identifier: then that of the last row counts.
func raiseIDs(ctx context.Context, conn *sql.DB, r db.Report) error {
	if r.Altered != nil {
		return r.Altered
	}
	for i, t := range r.Rows {
		query := `INSERT OR REPLACE INTO sqlite_sequence (rowid, name, seq)
			SELECT (SELECT rowid FROM sqlite_sequence WHERE name = ?1), name,
				max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?1), 0),
					coalesce((SELECT max(rowid) FROM ` + t.Table + `), 0)) + ?2
			FROM sqlite_schema WHERE name = ?1 AND sql LIKE '%AUTOINCREMENT%' RETURNING seq`
		err := conn.QueryRowContext(ctx, query, t.Table, skippedIDs).Scan(&r.Rows[i].LastID)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return nil
}

// writeCopy writes a copy of the database source, whose path is from, to a temporary file, verifies it
// and, once it is on disk, gives it the name to. With newIDs, it raises the identifiers of the copy.
func (s *Schema) writeCopy(ctx context.Context, source *sql.DB, from, to string, newIDs bool) (r db.Report, err error) {
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
	if err == nil && newIDs {
		err = raiseIDs(ctx, written, r)
	}
	if err := errors.Join(err, written.Close()); err != nil {
		return r, explain(from, err)
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

// Verify reads the whole database at path, even while servers use it. The error describes all damage.
func (s *Schema) Verify(ctx context.Context, path string) (r db.Report, err error) {
	source, err := openFile(path)
	if err != nil {
		return r, err
	}
	defer source.Close()
	r, err = s.verify(ctx, source)
	return r, explain(path, cmp.Or(err, r.Altered))
}

func (s *Schema) verify(ctx context.Context, conn *sql.DB) (r db.Report, err error) {
	problems, err := texts(ctx, conn, "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
	if len(problems) > 0 { // the last step is an error, too
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
	for _, table := range s.Tables {
		rows := db.Rows{Table: table}
		err := conn.QueryRowContext(ctx, "SELECT count(*) FROM "+table).Scan(&rows.Count)
		if err == nil {
			r.Rows = append(r.Rows, rows)
		} else if !hasCode(err, lib.SQLITE_ERROR) { // there is no such table in an older schema
			return r, err
		}
	}
	err = conn.QueryRowContext(ctx, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").Scan(&r.Bytes)
	return r, err
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"

	"example.com/petstore/engine/db"
	driver "modernc.org/sqlite"
)

const maxReaders = 8

// Open opens the database at path, or creates it with mode 0600, and brings its schema up
// to date. It rejects, and does not change, a database of another program or a newer one.
func (s *Schema) Open(ctx context.Context, path string, o db.Options) (*DB, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	d := &DB{
		file:   file,
		path:   filepath.Clean(path), // as resolve cleans it
		files:  map[string]fs.FileInfo{},
		schema: s,
		lock:   newLock(file),
		logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
		failed: make(chan error, 1),
		writer: connect(file, toWrite),
		jobs:   make(chan *job, maxBatch),
		idle:   make(chan Conn, maxReaders),
	}
	if err := d.open(ctx, o.MustExist); err != nil {
		return nil, explain(path, errors.Join(err, d.release()))
	}
	d.running.Go(d.runJobs)
	return d, nil
}

// Migrate opens and closes a database, and returns the versions of its schema before and after.
func (s *Schema) Migrate(ctx context.Context, path string, logger *slog.Logger) (from, to int64, err error) {
	d, err := s.Open(ctx, path, db.Options{Logger: logger})
	if err != nil {
		return 0, 0, err
	}
	return d.version, s.newest(), d.Close()
}

// open opens the file, or creates it if mustExist is false.
func (d *DB) open(ctx context.Context, mustExist bool) error {
	err := checkFile(d.file)
	if errors.Is(err, db.ErrNone) && !mustExist {
		var f *os.File // SQLite gives the files beside it the same mode
		if f, err = os.OpenFile(d.file, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600); err == nil {
			d.logger.Info("created a new store", "path", d.file)
			err = f.Close()
		}
	}
	if err != nil {
		return err
	}
	steps := []func(context.Context) error{d.recoverLog, d.migrate, d.connect, d.keepLog, d.watch, d.shareLock}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// connect prepares the connections. There is a reader per processor, within limits.
func (d *DB) connect(ctx context.Context) (err error) {
	if d.conn, err = d.schema.prepare(ctx, d.writer); err != nil {
		return err
	}
	for range min(max(4, runtime.GOMAXPROCS(0)), maxReaders) {
		reader := connect(d.file, toRead)
		d.readers = append(d.readers, reader)
		conn, err := d.schema.prepare(ctx, reader)
		if err != nil {
			return err
		}
		d.idle <- conn
	}
	return nil
}

// keepLog makes SQLite keep the log and its index when the writer is closed: on a full disk, it
// could not create them again, and could then read nothing.
func (d *DB) keepLog(ctx context.Context) error {
	conn, err := d.writer.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(c any) error {
		_, err := c.(driver.FileControl).FileControlPersistWAL("main", 1)
		return err
	})
}

// watch records which files are open and the length of the log, and syncs their folder, since the
// files may be new.
func (d *DB) watch(context.Context) (err error) {
	for _, name := range []string{d.path, d.file + logSuffix, d.file + indexSuffix, d.file + lockSuffix} {
		if d.files[name], err = os.Stat(name); err != nil {
			return err
		}
	}
	if d.log, err = os.Open(d.file + logSuffix); err != nil {
		return err
	}
	if _, err := d.measureLog(); err != nil {
		return err
	}
	return syncDir(d.file)
}

// newLock returns the lock of a database, not yet acquired. An open DB holds it shared, a restore
// exclusively. The lock file is never removed.
func newLock(file string) *flock.Flock {
	return flock.New(file+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o600))
}

// shareLock acquires the shared lock. If the lock was exclusive, it is free for a moment. A restore
// that acquires it then fails, because the file exists.
func (d *DB) shareLock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := d.lock.TryRLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("another process is opening or restoring it; wait until that is done")
	}
	return err
}

// recoverLog acquires the lock, exclusively if no other process has the file. Then it rewrites the log
// that the last one left, and copies it into the file: after a failed fsync, the kernel may believe that
// lost pages are written.
func (d *DB) recoverLog(ctx context.Context) error {
	alone, err := d.lock.TryLock()
	if err != nil {
		return err
	}
	if !alone {
		return d.shareLock(ctx)
	}
	log, err := os.OpenFile(d.file+logSuffix, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	conn := connect(d.file, toWrite)
	tx, err := conn.Begin() // keeps other programs from writing
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	if _, err = io.Copy(io.NewOffsetWriter(log, 0), log); err == nil {
		err = log.Sync()
	}
	if err != nil {
		return err // closing the connection would copy the log
	}
	return errors.Join(tx.Rollback(), conn.Close())
}

// migrate brings the schema up to date. It rejects a trigger that may change what is written, and
// warns of other differences.
func (d *DB) migrate(ctx context.Context) (err error) {
	if d.version, err = d.schema.version(ctx, d.writer); err != nil {
		return err
	}
	triggers, err := d.schema.compare(ctx, d.writer, d.version, differentTriggers)
	if err != nil {
		return err
	}
	if len(triggers) > 0 {
		return fmt.Errorf("it has %s, which may change what is written; drop it", strings.Join(triggers, ", "))
	}
	if _, err := d.writer.ExecContext(ctx, "PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	if err := d.schema.migrate(ctx, d.writer, d.schema.newest()); err != nil {
		return err
	}
	altered, err := d.schema.compare(ctx, d.writer, d.schema.newest(), differences)
	if len(altered) > 0 {
		d.logger.Warn("restore would reject a backup of this store: "+db.ErrAltered.Error(),
			"has", strings.Join(altered, ", "))
	}
	return err
}

// migrate brings the schema of a database up to a version.
func (s *Schema) migrate(ctx context.Context, conn *sql.DB, version int64) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, conn, s.Migrations)
	if err == nil {
		_, err = provider.UpTo(ctx, version)
	}
	return err
}

// newest returns the version of the last migration.
func (s *Schema) newest() int64 {
	names, _ := fs.Glob(s.Migrations, "*.sql") // in order
	newest, _ := goose.NumericComponent(names[len(names)-1])
	return newest
}

// version returns the version of the schema, or 0 if there is none. It rejects a database of
// another program and a newer version.
func (s *Schema) version(ctx context.Context, conn *sql.DB) (version int64, err error) {
	tables, err := texts(ctx, conn, tableNames)
	if err != nil || len(tables) == 0 {
		return 0, err
	}
	isOurs := func(table string) bool { return slices.Contains(s.Tables, table) }
	if !slices.Contains(tables, versionTable) || len(tables) > 1 && !slices.ContainsFunc(tables, isOurs) {
		return 0, errors.New("it belongs to another program and was not changed")
	}
	err = conn.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+versionTable).Scan(&version)
	switch {
	case err == nil && version > s.newest():
		err = fmt.Errorf("%w (version %d, and this one knows versions up to %d)", db.ErrNewer, version, s.newest())
	case err == nil && version == 0 && len(tables) > 1:
		err = fmt.Errorf("it %w: %s has no version of the other tables", db.ErrDamaged, versionTable)
	}
	return version, err
}

const (
	versionTable = goose.DefaultTablename
	tableNames   = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`

	// The last two compare a schema with a fresh one, given as JSON. They ignore the tables of SQLite
	// and goose, which may change with their releases, but not triggers on them.
	objects = `SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND
		NOT (type IN ('table', 'index') AND (tbl_name LIKE 'sqlite\_%' ESCAPE '\' OR tbl_name = '` + versionTable + `'))`

	differences = `WITH found AS (` + objects + `), fresh AS (
			SELECT value->>0 AS type, value->>1 AS name, value->>2 AS tbl_name, value->>3 AS sql FROM json_each(?)
		)
		SELECT iif(found.name IS NULL, 'no ', iif(fresh.name IS NULL, 'an additional ', 'another ')) || type || ' ' || name
		FROM fresh FULL JOIN found USING (type, name)
		WHERE (fresh.tbl_name, fresh.sql) IS NOT (found.tbl_name, found.sql)`

	differentTriggers = differences + ` AND type = 'trigger' AND
		(lower(found.tbl_name) IN (SELECT lower(name) FROM fresh) OR lower(found.tbl_name) = '` + versionTable + `')`
)

// compare returns how a schema differs from a fresh one of a version, or of version 1 if there is none,
// such as "no index by_name". The query is differences or differentTriggers.
func (s *Schema) compare(ctx context.Context, conn *sql.DB, version int64, query string) ([]string, error) {
	fresh := connect("", url.Values{"mode": {"memory"}})
	defer fresh.Close()
	if err := s.migrate(ctx, fresh, max(version, 1)); err != nil {
		return nil, err
	}
	want, err := texts(ctx, fresh, "SELECT json_group_array(json_array(type, name, tbl_name, sql)) FROM ("+objects+")")
	if err != nil {
		return nil, err
	}
	return texts(ctx, conn, query+" ORDER BY type, name", want[0])
}

// texts returns the texts that a query selects, up to the first error.
func texts(ctx context.Context, conn *sql.DB, query string, args ...any) (all []string, err error) {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return all, err
		}
		all = append(all, text)
	}
	return all, rows.Err()
}

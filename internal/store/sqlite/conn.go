package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"iter"
	"net/url"

	"github.com/pressly/goose/v3"
)

// SQLite ignores errors of checkpoints that it starts itself; see writer.checkpoint.
var (
	writerPragmas = []string{"busy_timeout=5000", "synchronous=FULL", "journal_size_limit=16777216", "wal_autocheckpoint=0"}
	readerPragmas = []string{"busy_timeout=5000", "query_only=1"}
)

// address returns the driver's address for an existing file. _error_rc keeps messages
// of other calls out of the text of an error.
func address(file string, pragmas ...string) string {
	query := url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_error_rc": {"1"}, "_pragma": pragmas}
	return "file:" + (&url.URL{Path: file}).EscapedPath() + "?" + query.Encode()
}

// connect returns a pool of one connection, which stays open.
func connect(file string, pragmas []string) *sql.DB {
	db, _ := sql.Open("sqlite", address(file, pragmas...)) // fails only without the driver
	db.SetMaxOpenConns(1)
	return db
}

// prepare prepares the statements.
func prepare(ctx context.Context, db *sql.DB, statements map[string]**sql.Stmt) error {
	for query, stmt := range statements {
		var err error
		if *stmt, err = db.PrepareContext(ctx, query); err != nil {
			return err
		}
	}
	return nil
}

type scanner interface{ Scan(dest ...any) error }

// scanned yields the rows of a query, up to the first error, and closes them.
func scanned[T any](rows *sql.Rows, scan func(scanner, *T) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		defer rows.Close()
		for rows.Next() {
			var v T
			err := scan(rows, &v)
			if !yield(v, err) || err != nil {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(*new(T), err)
		}
	}
}

// collect returns the rows of a query up to the first error.
func collect[T any](rows *sql.Rows, err error, scan func(scanner, *T) error) (all []T, _ error) {
	if err != nil {
		return nil, err
	}
	for v, err := range scanned(rows, scan) {
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
}

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date. It rejects, and does not change, a
// database of another program or of a newer version of this one.
func migrate(ctx context.Context, db *sql.DB) error {
	if _, err := schemaVersion(ctx, db); err != nil {
		return err
	}
	var mode, level string
	err := cmp.Or(db.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode), db.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&level))
	if err != nil {
		return err
	}
	if mode != "wal" || level != "2" { // SQLite reports no error
		return fmt.Errorf("SQLite did not apply its settings (journal mode %s, synchronous %s); is it on a network file system?", mode, level)
	}
	provider, err := newProvider(db)
	if err == nil {
		_, err = provider.Up(ctx)
	}
	return err
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	files, _ := fs.Sub(migrations, "migrations") // a valid name
	return goose.NewProvider(goose.DialectSQLite3, db, files)
}

// schemaVersion returns the version of the schema, or 0 if there is none. It
// rejects tables of another program and versions newer than all migrations.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var tables, ours, versions int
	err = db.QueryRowContext(ctx, `SELECT count(*), total(name IN ('pets', 'keys', 'goose_db_version')), total(name = 'goose_db_version')
		FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&tables, &ours, &versions)
	if err != nil || tables == 0 {
		return 0, err
	}
	if versions == 0 || tables > 1 && ours < 3 {
		return 0, ErrForeign
	}
	provider, err := newProvider(db)
	if err != nil {
		return 0, err
	}
	sources := provider.ListSources() // in order of version
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	if known := sources[len(sources)-1].Version; version > known {
		err = fmt.Errorf("its schema is at version %d and %w, which knows versions up to %d", version, ErrNewer, known)
	}
	return version, err
}

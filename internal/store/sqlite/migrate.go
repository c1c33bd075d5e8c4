package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the schema up to date. Where several processes open a fresh
// file at once, each needs it alone for a moment to switch it to WAL; of two
// that could wait for each other for ever, SQLite refuses one at once, without
// regard to busy_timeout. That one tries again for as long.
func migrate(ctx context.Context, path string) error {
	for end := time.Now().Add(busyTimeout * time.Millisecond); ; {
		err := migrateOnce(ctx, path)
		if !isBusy(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// migrateOnce brings the schema up to date. Two processes may do so at once: each
// migration is one transaction, so the later of them fails where the earlier
// has been; it looks again and goes on from there.
func migrateOnce(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", dsn(path, writerPragmas))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	latest := sources[len(sources)-1].Version

	const attempts = 3 // the version table, then the migrations, may be lost to another process
	var upErr error
	for range attempts {
		version, err := schemaVersion(ctx, db)
		switch {
		case err != nil:
			return err
		case version > latest:
			return fmt.Errorf("its schema is at version %d and this program knows versions up to %d; run a newer petstore", version, latest)
		case version == latest:
			return nil
		}
		_, upErr = provider.Up(ctx)
	}
	if upErr != nil {
		return fmt.Errorf("migration failed: %w", upErr)
	}
	return nil
}

// schemaVersion returns the last migration applied, 0 for an empty database.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?", goose.DefaultTablename).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename).Scan(&version)
	return version, err
}

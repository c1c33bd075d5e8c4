package dbfile

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

// Migrate brings the schema up to date. Where several processes open a fresh file at
// once, each needs exclusive access for a moment to switch it to WAL. Of two that
// could wait for each other for ever, SQLite refuses one at once, without regard to
// busy_timeout. The refused one tries again for as long.
func Migrate(ctx context.Context, file string) error {
	for end := time.Now().Add(BusyTimeout * time.Millisecond); ; {
		err := migrateOnce(ctx, file)
		if !IsBusy(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// migrateOnce brings the schema up to date. Two processes may do so at once. Each
// migration is one transaction, so the later process fails at a migration that the
// earlier one has made. It then looks again and goes on from there.
func migrateOnce(ctx context.Context, file string) (err error) {
	if err := withDatabase(Address(file, nil), func(db *sql.DB) error { return CheckOwner(ctx, db) }); err != nil { // before anything of it is changed
		return err
	}
	return withDatabase(Address(file, WriterPragmas), func(db *sql.DB) error { return bringUp(ctx, db) })
}

func withDatabase(address string, f func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", address)
	if err != nil {
		return err
	}
	return errors.Join(f(db), db.Close())
}

func bringUp(ctx context.Context, db *sql.DB) error {
	provider, latest, err := newProvider(db)
	if err != nil {
		return err
	}
	const attempts = 3 // the version table, then the migrations, may be lost to another process
	var upErr error
	for range attempts {
		switch version, err := Version(ctx, db); {
		case err != nil:
			return err
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

func newProvider(db *sql.DB) (provider *goose.Provider, latest int64, err error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, 0, err
	}
	if provider, err = goose.NewProvider(goose.DialectSQLite3, db, files); err != nil {
		return nil, 0, err
	}
	sources := provider.ListSources()
	return provider, sources[len(sources)-1].Version, nil
}

// CheckSchema refuses a database that this program cannot read as it is.
func CheckSchema(ctx context.Context, address string) error {
	return withDatabase(address, func(db *sql.DB) error {
		if err := CheckOwner(ctx, db); err != nil {
			return err
		}
		version, err := Version(ctx, db)
		if err != nil {
			return err
		}
		_, latest, err := newProvider(db)
		if err != nil || version == latest {
			return err
		}
		return fmt.Errorf("its schema is at version %d and this program reads version %d; start petstore serve on it once", version, latest)
	})
}

// CheckOwner refuses a database that has tables of another program. It changes
// nothing.
func CheckOwner(ctx context.Context, db *sql.DB) error {
	var foreign bool
	err := db.QueryRowContext(ctx, `WITH tables AS (SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\')
		SELECT EXISTS (SELECT 1 FROM tables WHERE name <> ?1) AND
			(SELECT count(*) FROM tables WHERE name IN (?1, 'pets', 'keys')) < 3`, goose.DefaultTablename).Scan(&foreign)
	if err == nil && foreign {
		return errForeign
	}
	return err
}

// Version returns the last migration applied, 0 for an empty database. It refuses
// one that this program does not know.
func Version(ctx context.Context, db *sql.DB) (version int64, err error) {
	_, latest, err := newProvider(db)
	if err != nil {
		return 0, err
	}
	var tables int
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name = ?", goose.DefaultTablename).Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename).Scan(&version)
	if err == nil && version > latest {
		err = fmt.Errorf("its schema is at version %d and this program knows versions up to %d; run a newer petstore", version, latest)
	}
	return version, err
}

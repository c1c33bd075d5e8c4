package dbfile

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/old/pets/store/schema"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema of the database up to date.
func Migrate(ctx context.Context, file string) error {
	s, err := schema.New(migrations)
	if err != nil {
		return err
	}
	return migrateTo(ctx, file, s)
}

// migrateTo brings a database to the latest version. Where several processes open a
// fresh file at once, each needs exclusive access for a moment to switch it to WAL.
// Of two that could wait for each other for ever, SQLite refuses one at once, without
// regard to busy_timeout. The refused one tries again for as long.
func migrateTo(ctx context.Context, file string, s schema.Schema) error {
	for end := time.Now().Add(BusyTimeout * time.Millisecond); ; {
		err := migrateOnce(ctx, file, s)
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

func migrateOnce(ctx context.Context, file string, s schema.Schema) error {
	err := With(Address(file, nil), func(db *sql.DB) error { return CheckOwner(ctx, db) })
	if err != nil { // before anything of it is changed
		return err
	}
	return With(Address(file, WriterPragmas), func(db *sql.DB) error { return apply(ctx, db, s) })
}

// apply runs the migrations that the database lacks. Two processes may do so at once.
// Each migration is one transaction, so the later process fails at a migration that
// the earlier one has made. It then looks again and goes on from there.
func apply(ctx context.Context, db *sql.DB, s schema.Schema) error {
	provider, err := goose.NewProvider(goose.DialectSQLite3, db, s.Files)
	if err != nil {
		return err
	}
	var upErr error
	for range len(provider.ListSources()) + 2 { // each, and goose's own table, may be lost to another process
		switch version, err := s.Version(ctx, db, hasTable); {
		case err != nil:
			return err
		case version == s.Latest:
			return nil
		}
		_, upErr = provider.Up(ctx)
	}
	if upErr != nil {
		return fmt.Errorf("migration failed: %w", upErr)
	}
	return nil
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

// hasTable tells whether there is a table of a name.
const hasTable = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = ?)"

// Version returns the version of the database's schema, 0 where it has none. It
// refuses a version that this program does not know.
func Version(ctx context.Context, db *sql.DB) (int64, error) {
	s, err := schema.New(migrations)
	if err != nil {
		return 0, err
	}
	return s.Version(ctx, db, hasTable)
}

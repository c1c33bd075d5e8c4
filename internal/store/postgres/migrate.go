package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// Older replicas work beside newer ones, so a migration must leave every
// statement of the version before it valid: it may add tables, indexes and
// columns that are nullable or have a default, and drop only what that version
// does not name.
//
//go:embed migrations/*.sql
var migrations embed.FS

const (
	migrateTimeout = 5 * time.Minute    // of a migration, and of the wait for another replica's
	migrateLock    = 0x70657473746f7265 // the number of an advisory lock: "petstore" in ASCII
)

// migrate brings the schema up to date, or waits until another replica has. The
// lock belongs to a transaction: goose's own belongs to a session, which
// PgBouncer gives to another client between two transactions. No transaction
// waits for it, because PgBouncer may have few connections.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	for {
		var locked bool
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(migrateLock)).Scan(&locked)
			if err != nil || !locked {
				return err
			}
			return up(ctx, conn.Config())
		})
		if err != nil || locked {
			return err
		}
		sleep(ctx, 75*time.Millisecond)
	}
}

// up runs the migrations that are missing. It refuses a schema that is newer
// than this program.
func up(ctx context.Context, config *pgx.ConnConfig) error {
	db := stdlib.OpenDB(*config)
	defer db.Close()
	files, _ := fs.Sub(migrations, "migrations") // a valid name
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return err
	}
	version, known, err := provider.GetVersions(ctx)
	if err != nil {
		return err
	}
	if version > known {
		return fmt.Errorf("its schema is at version %d and this program knows versions up to %d; run a newer petstore", version, known)
	}
	if _, err = provider.Up(ctx); err != nil {
		return fmt.Errorf("migration failed: %w", err)
	}
	return nil
}

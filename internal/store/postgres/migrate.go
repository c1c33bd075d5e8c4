package postgres

import (
	"context"
	"embed"
	"errors"
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
	// migrateTimeout bounds a migration, and the wait for another replica's.
	migrateTimeout = 5 * time.Minute

	// migrateLock is the number of an advisory lock: "petstore" in ASCII.
	migrateLock = 0x70657473746f7265
)

// migrate brings the schema up to date, or waits until another replica has. It
// refuses a schema that is newer than this program.
func migrate(ctx context.Context, conn *pgx.Conn) (err error) {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	unlock, err := lockMigrations(ctx, conn)
	if err != nil {
		return err
	}
	defer unlock()
	db := stdlib.OpenDB(*conn.Config())
	defer func() { err = errors.Join(err, db.Close()) }()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
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

// lockMigrations takes a lock that belongs to a transaction. Goose's own belongs
// to a session, which PgBouncer gives to another client between transactions.
// While another replica has the lock no transaction stays open, since PgBouncer
// may have few connections.
func lockMigrations(ctx context.Context, conn *pgx.Conn) (unlock func(), err error) {
	for {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return nil, err
		}
		var locked bool
		err = tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", int64(migrateLock)).Scan(&locked)
		if err == nil && locked {
			return func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }, nil
		}
		if err = errors.Join(err, tx.Rollback(ctx)); err != nil {
			return nil, err
		}
		if !sleep(ctx, 75*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// requireUTF8 refuses a database that cannot hold every name.
func requireUTF8(ctx context.Context, conn *pgx.Conn) error {
	var encoding string
	err := conn.QueryRow(ctx, "SELECT current_setting('server_encoding')").Scan(&encoding)
	if err == nil && encoding != "UTF8" {
		err = fmt.Errorf("its encoding is %s and not UTF8; create it with ENCODING 'UTF8' TEMPLATE template0", encoding)
	}
	return err
}

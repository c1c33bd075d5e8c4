package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrateTimeout bounds bringing the schema up to date, waiting for other
// replicas that do so included.
const migrateTimeout = 5 * time.Minute

// migrate brings the schema up to date. Any number of replicas may do so at
// once: one works, the others wait for it.
//
// Older replicas go on working beside a newer one, so a migration must leave
// every statement of the version before it valid: it may add tables, columns
// that are nullable or have a default, and indexes (CONCURRENTLY, or writes
// would wait for them), but rename, retype and drop nothing that the version
// before names. What is no longer needed is dropped by the version after.
// migrations_test.go refuses the rest.
func migrate(ctx context.Context, config *pgx.ConnConfig) (err error) {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	db := stdlib.OpenDB(*config.Copy())
	defer func() { err = errors.Join(err, db.Close()) }()
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithLocker(&locker{}))
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	latest := sources[len(sources)-1].Version
	var upErr error
	for range 2 { // the second look is at what another replica may have done meanwhile
		switch version, err := schemaVersion(ctx, db); {
		case err != nil:
			return err
		case version > latest:
			return fmt.Errorf("its schema is at version %d and this program knows versions up to %d; run a newer petstore", version, latest)
		case version == latest:
			return nil
		}
		if _, upErr = provider.Up(ctx); upErr != nil {
			break
		}
	}
	return fmt.Errorf("migration failed: %w", upErr)
}

// schemaVersion returns the last migration applied, 0 for an empty database.
func schemaVersion(ctx context.Context, db *sql.DB) (version int64, err error) {
	var there bool
	err = db.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", goose.DefaultTablename).Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM "+goose.DefaultTablename).Scan(&version)
	return version, err
}

// locker is goose's lock between replicas: an advisory lock that belongs to a
// transaction. goose's own belongs to a session, which a pooler such as
// PgBouncer gives to somebody else between two transactions, lock and all.
type locker struct{ tx *sql.Tx }

// lockKey is the number of the lock. Any would do; this is "petstore" in ASCII.
const lockKey = 0x70657473746f7265

// Lock asks again and again and never waits inside PostgreSQL: a statement that
// waits there would keep CREATE INDEX CONCURRENTLY waiting for it. So would one
// by the extended protocol, whose portal has a snapshot until the transaction ends.
func (l *locker) Lock(ctx context.Context, db *sql.DB) error {
	for {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return err
		}
		var taken bool
		err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", pgx.QueryExecModeSimpleProtocol, int64(lockKey)).Scan(&taken)
		if err != nil {
			return errors.Join(err, tx.Rollback())
		}
		if taken {
			l.tx = tx
			return nil
		}
		if err := tx.Rollback(); err != nil {
			return err
		}
		if !pause(ctx, 10) {
			return fmt.Errorf("another program has been migrating all the time: %w", ctx.Err())
		}
	}
}

// Unlock ends the transaction, and with it the lock.
func (l *locker) Unlock(context.Context, *sql.DB) error { return l.tx.Rollback() }

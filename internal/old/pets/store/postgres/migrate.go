package postgres

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/sethvargo/go-retry"

	"example.com/petstore/internal/old/pets/store/postgres/primary"
	"example.com/petstore/internal/old/pets/store/schema"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrateTimeout bounds bringing the schema up to date, and the wait for another
// replica that does so.
const migrateTimeout = 5 * time.Minute

// migrate brings the schema of the database up to date.
func migrate(ctx context.Context, cluster *primary.DB) error {
	s, err := schema.New(migrations)
	if err != nil {
		return err
	}
	return migrateTo(ctx, cluster, s)
}

// migrateTo brings a database to the latest version. Any number of replicas may do so
// at once: one migrates, the others wait.
//
// Older replicas go on working beside a newer one, so a migration must leave
// every statement of the version before it valid. It may add tables, columns
// that are nullable or have a default, and indexes (CONCURRENTLY, or writes
// would wait for them). It must not rename, retype or drop anything that the
// version before names; the version after may drop it. migrations_test.go
// refuses the rest.
func migrateTo(ctx context.Context, cluster *primary.DB, s schema.Schema) (err error) {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	db := stdlib.OpenDB(*cluster.ConnConfig())
	defer func() { err = errors.Join(err, db.Close()) }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, s.Files, goose.WithLocker(&locker{}))
	if err != nil {
		return err
	}
	var upErr error
	for range 2 { // the second time in case another replica has migrated meanwhile
		switch version, err := s.Version(ctx, db, hasTable); {
		case err != nil:
			return err
		case version == s.Latest:
			return nil
		}
		if _, upErr = provider.Up(ctx); upErr != nil {
			break
		}
	}
	return fmt.Errorf("migration failed: %w", upErr)
}

// checkSchema refuses a database whose schema is not up to date, and changes nothing.
func checkSchema(ctx context.Context, cluster *primary.DB) error {
	version, latest, err := versions(ctx, cluster)
	if err == nil && version < latest {
		err = fmt.Errorf("its schema is at version %d and this program reads version %d; run the petstore that serves it, or start petstore serve of this version on it once", version, latest)
	}
	return err
}

// versions returns the version of the database's schema, and that of this program.
func versions(ctx context.Context, cluster *primary.DB) (version, latest int64, err error) {
	s, err := schema.New(migrations)
	if err != nil {
		return 0, 0, err
	}
	db := stdlib.OpenDB(*cluster.ConnConfig())
	defer func() { err = errors.Join(err, db.Close()) }()
	version, err = s.Version(ctx, db, hasTable)
	return version, s.Latest, err
}

// hasTable tells whether there is a table of a name.
const hasTable = "SELECT to_regclass($1) IS NOT NULL"

// locker is goose's lock between replicas: an advisory lock that belongs to a
// transaction. Goose has two locks of its own. One belongs to a session, which a
// pooler such as PgBouncer gives to another client between two transactions, lock
// and all. The other is a row with a lease, which outlives a replica that is killed.
type locker struct{ tx *sql.Tx }

// lockKey is the number of the lock. Any would do; this is "petstore" in ASCII.
const lockKey = 0x70657473746f7265

// Lock asks again and again and never waits inside PostgreSQL: CREATE INDEX
// CONCURRENTLY waits for every statement that does. It waits for a statement of
// the extended protocol too, whose snapshot lasts until the transaction ends.
func (l *locker) Lock(ctx context.Context, db *sql.DB) error {
	return retry.Do(ctx, retry.NewConstant(75*time.Millisecond), func(ctx context.Context) error {
		tx, err := db.BeginTx(context.WithoutCancel(ctx), nil)
		if err != nil {
			return err
		}
		var locked bool
		err = tx.QueryRowContext(ctx, "SELECT pg_try_advisory_xact_lock($1)", pgx.QueryExecModeSimpleProtocol, int64(lockKey)).Scan(&locked)
		if err == nil && locked {
			l.tx = tx
			return nil
		}
		if err == nil {
			err = retry.RetryableError(errors.New("another program migrates"))
		}
		return errors.Join(err, tx.Rollback())
	})
}

// Unlock ends the transaction, and with it the lock.
func (l *locker) Unlock(context.Context, *sql.DB) error { return l.tx.Rollback() }

package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"example.com/petstore/engine/db"
)

// newest returns the version of the last migration.
func (s Schema) newest() int64 {
	names, _ := fs.Glob(s.Migrations, "*.sql") // in order
	version, _ := goose.NumericComponent(names[len(names)-1])
	return version
}

// check returns an error unless the version, which is 0 if there is no schema, is the newest.
func (s Schema) check(version int64) error {
	newest := s.newest()
	switch {
	case version == 0:
		return fmt.Errorf("%w in the schema %s", db.ErrNone, s.Name)
	case version < newest:
		return fmt.Errorf("%w: version %d, not %d", db.ErrOutdated, version, newest)
	case version > newest:
		return fmt.Errorf("%w: version %d, not %d", db.ErrNewer, version, newest)
	}
	return nil
}

// create needs no privilege if the schema exists, and several processes may run it at once, unlike IF NOT EXISTS.
const create = `DO $$ BEGIN
	IF to_regnamespace('%s'::text) IS NULL THEN CREATE SCHEMA %[1]s; END IF;
EXCEPTION WHEN duplicate_schema OR unique_violation THEN NULL;
END $$`

// migrate brings the schema to the newest version, or waits up to a minute for another process that
// does. The lock is a row, since PgBouncer may give a session, with its locks, to another client.
func (d *DB) migrate(ctx context.Context) error {
	s, c, newest := d.schema, d.config.ConnConfig, d.schema.newest()
	if d.version >= newest {
		return s.check(d.version)
	}
	if !d.first.pooled { // PgBouncer does not know these
		c.RuntimeParams["statement_timeout"] = "0"
		// If this process dies or hangs, its transaction, with its locks on tables, must end when goose's lock does.
		c.RuntimeParams["idle_in_transaction_session_timeout"] = "30s"
	}
	db := stdlib.OpenDB(*c)
	defer db.Close()
	if _, err := db.ExecContext(ctx, fmt.Sprintf(create, s.Name)); err != nil {
		return err
	}
	waiting := sync.OnceFunc(func() { d.logger.Warn("waiting for another process that migrates the schema") })
	locker, err := lock.NewPostgresTableLocker(
		lock.WithTableName(s.Name+".goose_lock"),
		lock.WithTableLockTimeout(100*time.Millisecond, 600),
		lock.WithTableUnlockTimeout(100*time.Millisecond, 10), // which no signal ends
		lock.WithTableLogger(slog.New(slog.DiscardHandler)),
		lock.WithTableRetryPolicy(func(err error) bool {
			if serverError(err).Code != "" { // such as a missing privilege
				return false
			}
			waiting()
			return true
		}),
	)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, s.Migrations,
		goose.WithTableName(s.versions()), goose.WithLocker(locker))
	if err != nil {
		return err
	}
	applied, err := provider.Up(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("its schema cannot be migrated: %w", err)
	case len(applied) == 0: // another process has migrated it
		d.version = newest
	case d.version == 0:
		d.logger.Info("created a new store", "database", c.Database, "schema", s.Name)
	default:
		d.logger.Info("migrated the schema", "from", d.version, "to", newest)
	}
	return nil
}

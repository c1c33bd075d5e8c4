package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
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

// version returns the version of the schema, or 0 if there is none.
func (s Schema) version(ctx context.Context, conn *pgx.Conn) (v int64, err error) {
	err = conn.QueryRow(ctx, "SELECT max(version_id) FROM "+s.versions()).Scan(&v)
	if answer(err).Code == "42P01" { // undefined_table
		return 0, nil
	}
	return v, err
}

// check returns an error unless the version is the newest.
func (s Schema) check(version int64) error {
	switch newest := s.newest(); {
	case version == 0:
		return fmt.Errorf("%w in the schema %s", db.ErrNone, s.Name)
	case version < newest:
		return fmt.Errorf("%w: version %d, not %d", db.ErrOutdated, version, newest)
	case version > newest:
		return fmt.Errorf("%w: version %d, not %d", db.ErrNewer, version, newest)
	}
	return nil
}

// migrate brings the schema to the newest version, or waits up to a minute for another process that
// does. The lock is a row, since PgBouncer may give a session, with its locks, to another client.
func (s Schema) migrate(ctx context.Context, seen found, logger *slog.Logger) (from, to int64, err error) {
	from, to = seen.version, s.newest()
	if from >= to {
		return from, to, s.check(from)
	}
	if !seen.pooled { // PgBouncer does not know these
		seen.config.RuntimeParams["statement_timeout"] = "0"
		// If this process dies or hangs, its transaction, with its locks on tables, must end when goose's lock does.
		seen.config.RuntimeParams["idle_in_transaction_session_timeout"] = "30s"
	}
	db := stdlib.OpenDB(*seen.config)
	defer db.Close()
	if _, err := db.ExecContext(ctx, s.create()); err != nil {
		return 0, 0, err
	}
	waiting := sync.OnceFunc(func() { logger.Warn("waiting for another process that migrates the schema") })
	locker, err := lock.NewPostgresTableLocker(
		lock.WithTableName(s.Name+".goose_lock"),
		lock.WithTableLockTimeout(100*time.Millisecond, 600),
		lock.WithTableUnlockTimeout(100*time.Millisecond, 10), // which no signal ends
		lock.WithTableLogger(slog.New(slog.DiscardHandler)),
		lock.WithTableRetryPolicy(func(err error) bool {
			if answer(err).Code != "" { // an error of the server, such as a missing privilege
				return false
			}
			waiting()
			return true
		}),
	)
	if err != nil {
		return 0, 0, err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, s.Migrations,
		goose.WithTableName(s.versions()), goose.WithLocker(locker))
	if err != nil {
		return 0, 0, err
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("its schema cannot be migrated: %w", err)
	}
	if len(applied) == 0 { // by another process
		return to, to, nil
	}
	if from == 0 {
		logger.Info("created a new store", "database", seen.config.Database, "schema", s.Name)
	} else {
		logger.Info("migrated the schema", "from", from, "to", to)
	}
	return from, to, nil
}

// create returns a statement that creates the schema if there is none. CREATE SCHEMA IF NOT EXISTS
// always needs the privilege, and fails if another process creates it at the same time.
func (s Schema) create() string {
	return fmt.Sprintf(`DO $$ BEGIN
	IF to_regnamespace('%s'::text) IS NULL THEN CREATE SCHEMA %[1]s; END IF;
EXCEPTION WHEN duplicate_schema OR unique_violation THEN NULL;
END $$`, s.Name)
}

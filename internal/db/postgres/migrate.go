package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"example.com/petstore/internal/db"
)

// newest returns the version of the last migration.
func (s Schema) newest() int64 {
	names, _ := fs.Glob(s.Migrations, "*.sql") // in order
	version, _ := goose.NumericComponent(names[len(names)-1])
	return version
}

// version returns the version of the schema, or 0 if there is none.
func (s Schema) version(ctx context.Context, conn *pgx.Conn) (v int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err = conn.QueryRow(ctx, "SELECT max(version_id) FROM "+s.versions()).Scan(&v)
	if codeOf(err) == "42P01" { // undefined_table
		return 0, nil
	}
	return v, err
}

// check returns an error unless the version is the newest.
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

const (
	lockPause  = 75 * time.Millisecond
	lockNotice = 5 * time.Second // until a line tells who holds the lock
	lockWait   = time.Minute
)

// migrate brings the schema to the newest version, or waits until another process has done so. It
// polls for the lock because a waiting transaction would occupy a connection of PgBouncer, which
// may have few.
func migrate(
	ctx context.Context, conn *pgx.Conn, schema Schema, pooled bool, wait time.Duration, logger *slog.Logger,
) (from, to int64, err error) {
	to = schema.newest()
	holder := ""
	for began := time.Now(); ; {
		from, err = schema.version(ctx, conn)
		switch {
		case err != nil:
			return 0, 0, err
		case from > to:
			return 0, 0, schema.check(from)
		case from == to:
			return from, to, nil
		}
		changed, err := tryMigrate(ctx, conn, schema, pooled)
		switch {
		case err != nil:
			return 0, 0, err
		case changed:
			logger.Info("migrated the schema", "from", from, "to", to)
			return from, to, nil
		case time.Since(began) > wait:
			return 0, 0, fmt.Errorf("its schema must be migrated, but the lock for that is held by %s", holder)
		case holder == "" && time.Since(began) > lockNotice:
			holder = lockHolder(ctx, conn, schema)
			logger.Warn("waiting for the lock of migrations", "holder", holder)
		}
		time.Sleep(lockPause)
	}
}

// lockKey is the key of an advisory lock, of 64 bits. $1 is the name of the schema.
const lockKey = "hashtextextended($1::text, 0::bigint)"

// tryMigrate brings the schema to the newest version, or returns false if another process
// holds the lock. The lock belongs to a transaction. goose's own lock belongs to a session,
// which PgBouncer may give to another client after a transaction.
func tryMigrate(ctx context.Context, conn *pgx.Conn, schema Schema, pooled bool) (changed bool, err error) {
	err = pgx.BeginTxFunc(ctx, conn, withoutTimeouts, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock("+lockKey+")", schema.Name).Scan(&changed)
		if err != nil || !changed {
			return err
		}
		config := conn.Config()
		if !pooled { // PgBouncer does not know these
			config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
			config.RuntimeParams["statement_timeout"] = "0"
		}
		db := stdlib.OpenDB(*config)
		defer db.Close()
		if _, err := db.ExecContext(ctx, schema.create()); err != nil {
			return err
		}
		table := goose.WithTableName(schema.versions())
		provider, err := goose.NewProvider(goose.DialectPostgres, db, schema.Migrations, table)
		if err != nil {
			return err
		}
		_, err = provider.Up(ctx)
		return err
	})
	return changed, err
}

// create returns a statement that creates the schema if there is none. CREATE SCHEMA IF NOT
// EXISTS would need the privilege to create one even if there is.
func (s Schema) create() string {
	return fmt.Sprintf(`DO $$ BEGIN IF to_regnamespace('%s'::text) IS NULL THEN CREATE SCHEMA %[1]s; END IF; END $$`, s.Name)
}

// withoutTimeouts begins a transaction that may last longer than the user's settings
// allow. PostgreSQL before 17 has no transaction_timeout.
var withoutTimeouts = pgx.TxOptions{BeginQuery: `BEGIN; SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('idle_in_transaction_session_timeout', 'statement_timeout', 'transaction_timeout')`}

// selectHolder names the schema of format, because a planted function might fit better.
const selectHolder = `SELECT pg_catalog.format('process %s (%s of %s at %s, %s since %s); pg_terminate_backend(%1$s) ends it',
	pid, application_name, usename, coalesce(client_addr::text, 'its socket'), state, state_change)
FROM pg_locks LEFT JOIN pg_stat_activity USING (pid)
WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = ` + lockKey + `
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// lockHolder describes who holds the lock, as far as the user may see it.
func lockHolder(ctx context.Context, conn *pgx.Conn, schema Schema) (text string) {
	if err := conn.QueryRow(ctx, selectHolder, schema.Name).Scan(&text); err != nil {
		return "another process: " + err.Error()
	}
	return text
}

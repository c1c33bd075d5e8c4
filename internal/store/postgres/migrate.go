package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"example.com/petstore/internal/db"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// During an upgrade, replicas of the previous version are still running, so a
// migration must keep all their statements valid. It may add tables, indexes,
// and columns that are nullable or have a default, and drop only what the
// previous version does not name.
//
//go:embed migrations/*.sql
var embedded embed.FS

// migrations has the files of embedded at its top.
var migrations, _ = fs.Sub(embedded, "migrations")

func lastVersion(files fs.FS) int64 {
	names, _ := fs.Glob(files, "*.sql") // in order
	version, _ := goose.NumericComponent(names[len(names)-1])
	return version
}

// look returns the session of conn with the version of the store in the first schema of
// its search path, and an error if another schema of it holds a store.
func look(ctx context.Context, conn *pgx.Conn) (session, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	s, err := readSession(ctx, conn.PgConn())
	switch {
	case err != nil:
		return s, err
	case s.Schema == "":
		return s, errors.New("the search path has no schema that the user may use")
	case len(s.Stores) == 0:
		return s, nil
	case s.Stores[0] != s.Schema:
		return s, fmt.Errorf("the schema %q is before %q in the search path, which holds a store; "+
			"name the one to use by search_path=SCHEMA in the address, or by ALTER ROLE", s.Schema, s.Stores[0])
	}
	table := pgx.Identifier{s.Schema, "goose_db_version"}.Sanitize()
	return s, conn.QueryRow(ctx, "SELECT max(version_id) FROM "+table).Scan(&s.version)
}

// checkVersion returns an error unless there is a store of the newest version.
func (s session) checkVersion(newest int64) error {
	switch {
	case s.version == 0:
		return fmt.Errorf("%w in the schema %q", db.ErrNone, s.Schema)
	case s.version < newest:
		return fmt.Errorf("%w: version %d, not %d", db.ErrOutdated, s.version, newest)
	case s.version > newest:
		return fmt.Errorf("%w: version %d, not %d", db.ErrNewer, s.version, newest)
	}
	return nil
}

// Migrate brings the schema of the store at dsn up to date, and returns the versions
// before and after. It creates the store if there is none.
func Migrate(ctx context.Context, dsn string, logger *slog.Logger) (from, to int64, err error) {
	s, err := open(ctx, dsn, db.Options{}, true, func(conn *pgx.Conn, _ session) (err error) {
		from, to, err = migrate(ctx, conn, migrations, lockWait, logger)
		return err
	})
	if err != nil {
		return 0, 0, err
	}
	return from, to, s.Close()
}

const (
	migrateLock int64 = 0x70657473746f7265 // the key of an advisory lock: "petstore" in ASCII

	lockPause  = 75 * time.Millisecond
	lockNotice = 5 * time.Second // until a line tells who holds the lock
	lockWait   = time.Minute
)

// migrate brings the schema to the newest version of files, or waits until another process has
// done so. It polls for the lock because a waiting transaction would occupy a
// connection, of which PgBouncer may have few.
func migrate(
	ctx context.Context, conn *pgx.Conn, files fs.FS, wait time.Duration, logger *slog.Logger,
) (from, to int64, err error) {
	to = lastVersion(files)
	holder := ""
	for began := time.Now(); ; {
		seen, err := look(ctx, conn)
		switch {
		case err != nil:
			return 0, 0, err
		case seen.version > to:
			return 0, 0, seen.checkVersion(to)
		case seen.version == to:
			return to, to, nil
		}
		changed, err := tryChange(ctx, conn, files, seen, to)
		switch {
		case err != nil:
			return 0, 0, err
		case changed:
			logger.Info("migrated the schema", "from", seen.version, "to", to)
			return seen.version, to, nil
		case time.Since(began) > wait:
			return 0, 0, fmt.Errorf("its schema must be migrated, but the lock for that is held by %s", holder)
		case holder == "" && time.Since(began) > lockNotice:
			holder = lockHolder(ctx, conn)
			logger.Warn("waiting for the lock of migrations", "holder", holder)
		}
		time.Sleep(lockPause)
	}
}

// tryChange changes the schema to the version to, or returns false if another process holds
// the lock. The lock belongs to a transaction. goose's own lock belongs to a session,
// which PgBouncer may give to another client after a transaction.
func tryChange(ctx context.Context, conn *pgx.Conn, files fs.FS, seen session, to int64) (changed bool, err error) {
	err = pgx.BeginTxFunc(ctx, conn, withoutTimeouts, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", migrateLock).Scan(&changed)
		if err != nil || !changed {
			return err
		}
		config := conn.Config()
		if !seen.pooled { // PgBouncer does not know these
			config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
			config.RuntimeParams["statement_timeout"] = "0"
		}
		db := stdlib.OpenDB(*config)
		defer db.Close()
		provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
		if err != nil {
			return err
		}
		if _, err := provider.Up(ctx); err != nil {
			return err
		}
		seen, err = look(ctx, conn)
		if err == nil && seen.version != to {
			err = fmt.Errorf("the table goose_db_version in the schema %q is another program's", seen.Schema)
		}
		return err
	})
	return changed, err
}

// withoutTimeouts begins a transaction that may last longer than the user's settings
// allow. PostgreSQL before 17 has no transaction_timeout.
var withoutTimeouts = pgx.TxOptions{BeginQuery: `BEGIN; SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('idle_in_transaction_session_timeout', 'statement_timeout', 'transaction_timeout')`}

const selectHolder = `SELECT format('process %s (%s of %s at %s, %s since %s); pg_terminate_backend(%1$s) ends it', pid,
application_name, usename, coalesce(host(client_addr), 'its socket'), state, date_trunc('second', state_change))
FROM pg_locks LEFT JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' AND granted AND objsubid = 1
AND (classid::bigint << 32 | objid::bigint) = $1
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// lockHolder describes who holds the lock, as far as the user may see it.
func lockHolder(ctx context.Context, conn *pgx.Conn) (text string) {
	if err := conn.QueryRow(ctx, selectHolder, migrateLock).Scan(&text); err != nil {
		return "another process: " + err.Error()
	}
	return text
}

package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// During an upgrade, replicas of the previous version are still running, so a
// migration must keep all their statements valid. It may add tables, indexes,
// and columns that are nullable or have a default, and drop only what the
// previous version does not name.
//
//go:embed migrations/*.sql
var migrations embed.FS

const migrateLock int64 = 0x70657473746f7265 // the key of an advisory lock: "petstore" in ASCII

// migrate brings the schema up to date, or waits until another replica has done
// so. Its lock belongs to a transaction. goose's own lock belongs to a session,
// which PgBouncer may give to another client after a transaction. migrate polls
// for the lock because a waiting transaction would occupy a connection, of
// which PgBouncer may have few.
func migrate(ctx context.Context, conn *pgx.Conn) (from, to int64, err error) {
	for {
		var locked bool
		err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", migrateLock).Scan(&locked)
			if err == nil && locked {
				from, to, err = up(ctx, conn.Config())
			}
			return err
		})
		if err != nil || locked {
			return from, to, err
		}
		time.Sleep(75 * time.Millisecond)
	}
}

// up runs the missing migrations. It rejects a schema newer than this program.
func up(ctx context.Context, config *pgx.ConnConfig) (from, to int64, err error) {
	db := stdlib.OpenDB(*config)
	defer db.Close()
	files, _ := fs.Sub(migrations, "migrations") // a valid name
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return 0, 0, err
	}
	from, to, err = provider.GetVersions(ctx)
	if err == nil && from > to {
		return 0, 0, fmt.Errorf("its schema is at version %d and %w, which knows versions up to %d", from, ErrNewer, to)
	}
	if err == nil {
		_, err = provider.Up(ctx)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "42501" { // insufficient_privilege
		return 0, 0, fmt.Errorf("%w: %s", ErrMayNotMigrate, e.Message)
	}
	return from, to, err
}

// Package postgres connects to a PostgreSQL database, which any number of processes may use at
// once. The caller passes the tables in a Schema. README.md lists what it promises.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/semaphore"

	"example.com/petstore/engine/fault"
)

// Schema is what a program keeps in a database.
type Schema struct {
	// Name is the PostgreSQL schema of all its tables, and the default application_name. It must
	// need no quotes. Every statement must name the schema, because the default search path
	// begins with a schema of the user's name, whose tables would hide others.
	Name string

	// Migrations are goose's files. During an upgrade, replicas of the previous version are still
	// running. So a migration may add tables, indexes, and columns that are nullable or have a
	// default, and drop only what the previous version does not name.
	Migrations fs.FS
}

// versions returns the name of goose's table.
func (s Schema) versions() string { return s.Name + ".goose_db_version" }

// DB is a PostgreSQL database.
type DB struct {
	Citus bool // the extension is installed

	schema      Schema
	pool        *pgxpool.Pool
	known       *lineage
	requireSync bool // for the metric

	// Reads and writes may each use half of the connections, so that slow writes, such as those
	// that wait for a standby, do not block reads, nor slow reads writes.
	reads, writes *semaphore.Weighted

	closed           atomic.Bool
	unreachableSince atomic.Int64 // according to Ping, in nanoseconds; 0 if it is reachable
}

// Ping reports whether the database can serve requests. All processes share the database, so
// it succeeds while the server has been unreachable for less than bridgedOutage.
func (d *DB) Ping(ctx context.Context) error {
	err := d.Read(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SELECT FROM "+d.schema.versions()+" LIMIT 1")
		return err
	})
	if err == nil || fault.KindOf(err) != fault.Unavailable || d.closed.Load() {
		d.unreachableSince.Store(0)
	} else if d.unreachableSince.CompareAndSwap(0, time.Now().UnixNano()) ||
		time.Since(time.Unix(0, d.unreachableSince.Load())) < bridgedOutage {
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, fmt.Errorf("the database does not serve requests: %w", err))
	}
	return nil
}

// Close waits for the statements in progress, for closeTimeout at most: pgx would wait 15 s
// for each connection to a server that hangs.
func (d *DB) Close() error {
	d.closed.Store(true)
	closed := make(chan struct{})
	go func() { d.pool.Close(); close(closed) }()
	select {
	case <-closed:
		return nil
	case <-time.After(closeTimeout):
		return errors.New("the connections to PostgreSQL could not be closed in time")
	}
}

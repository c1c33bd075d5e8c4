// Package sqlite keeps a database in a file. Its caller provides a Schema of migrations and statements.
// A write is on disk before Write returns; those that wait at the same time share a commit. Several
// processes may have the file open; a process whose writes may be lost is told to end. Backup, Restore
// and Verify work on files. README.md states the promises and how each failure is handled.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
)

// Schema is what a program keeps in its databases.
type Schema struct {
	Migrations fs.FS    // goose's files, at its top
	Tables     []string // a database with none of them belongs to another program
	statements []string
}

// Statement is a statement of a Schema, which each connection prepares.
type Statement struct {
	index int
	reads bool // begins with SELECT
}

// Statement adds a statement to the schema. Call it before any database is opened.
func (s *Schema) Statement(query string) Statement {
	s.statements = append(s.statements, query)
	return Statement{len(s.statements) - 1, strings.HasPrefix(query, "SELECT")}
}

// Statements returns the statements, for tests of their plans.
func (s *Schema) Statements() []string { return s.statements }

// DB is an open database. It is a prometheus.Collector, too.
type DB struct {
	file    string // the path without symbolic links
	schema  *Schema
	version int64 // of the schema before Open
	lock    *flock.Flock
	logger  *slog.Logger

	writer  *sql.DB // has the only connection that writes
	conn    Conn    // of the writer
	jobs    chan *job
	running sync.WaitGroup // runJobs, until jobs is closed and all are done
	commits atomic.Uint64

	readers []*sql.DB // each has one connection
	idle    chan Conn // of the readers that are not in use

	path     string                 // of the file, or of a link to it
	files    map[string]fs.FileInfo // the file and those beside it, when they were opened
	log      *os.File
	logPages atomic.Int64 // of the log, as SQLite last reported

	failed   chan error                  // holds one error
	failure  atomic.Pointer[fault.Error] // why the process must end
	damage   atomic.Pointer[fault.Error] // why writing has stopped, although sound pages are still read
	diskFull atomic.Bool

	mu     sync.RWMutex // read-locked by every call; Close locks it
	closed bool
}

// Read calls f with a connection for reading once one is idle. The connection takes no
// context: its queries are short, and watching a context would double their cost. Errors
// of f are returned unchanged if they are the caller's fault or sql.ErrNoRows.
func (d *DB) Read(ctx context.Context, f func(Conn) error) error {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.closed {
		return db.ErrClosed
	}
	var conn Conn
	select {
	case conn = <-d.idle:
	default: // ctx.Done() usually allocates
		select {
		case conn = <-d.idle:
		case <-ctx.Done():
			return db.Canceled(ctx.Err())
		}
	}
	defer func() { d.idle <- conn }()
	err := f(conn)
	_ = d.record(err)
	return classify(err)
}

// Ping fails if no reader becomes idle, a file was replaced or an fsync failed.
func (d *DB) Ping(ctx context.Context) error {
	return d.Read(ctx, func(Conn) error { return d.check() })
}

// Failed delivers one error if the process must end, because its writes may not be durable.
func (d *DB) Failed() <-chan error { return d.failed }

// Close waits for the calls in progress and rejects new ones. It may be called again.
func (d *DB) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	close(d.jobs)
	d.running.Wait()
	d.checkpoint(0)
	failure := d.failure.Load()
	if failure == nil {
		return d.release()
	}
	if errors.Is(failure, errReplaced) && !d.replaced(d.path) { // only a file beside it was
		return d.closeReplaced()
	}
	// The log is left to the next process: releasing the connections would copy it, and ignore errors.
	select {
	case err := <-d.failed: // not delivered yet
		return err
	default:
		return nil
	}
}

// closeReplaced copies the log into the file. If the log has lost its name, it removes the index, since
// checkFile would take the log for stolen.
func (d *DB) closeReplaced() error {
	var pages, copied int
	err := d.writer.QueryRow("PRAGMA wal_checkpoint(PASSIVE)").Scan(new(int), &pages, &copied)
	if err != nil {
		return err
	}
	err = d.release()
	if err == nil && pages == copied && logTaken(d.file) {
		err = os.Remove(d.file + indexSuffix)
	}
	return err
}

// release closes the connections, the writer last, and releases the lock.
func (d *DB) release() error {
	var errs []error
	for _, conn := range append(d.readers, d.writer) {
		errs = append(errs, conn.Close())
	}
	if d.log != nil {
		errs = append(errs, d.log.Close())
	}
	return errors.Join(append(errs, d.lock.Close())...)
}

// The options of connections. mode=rw does not create a file. Checkpoints that SQLite
// starts itself are off, because it ignores their errors; see DB.checkpoint.
var (
	toWrite = url.Values{"mode": {"rw"}, "_txlock": {"immediate"}, "_pragma": {
		"busy_timeout=5000", "synchronous=2", "foreign_keys=1", "journal_size_limit=16777216", "wal_autocheckpoint=0",
	}}
	toRead = url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout=5000"}}
)

// connect returns a pool of one connection, made by the first query.
func connect(file string, options url.Values) *sql.DB {
	address := "file:" + (&url.URL{Path: file}).EscapedPath() + "?_error_rc=1&" + options.Encode()
	conn, _ := sql.Open("sqlite", address) // fails only without the driver
	conn.SetMaxOpenConns(1)
	return conn
}

// Conn is a connection for reading, or a transaction.
type Conn struct {
	prepared []*sql.Stmt
	tx       *sql.Tx // nil for reading
	wrote    *bool   // set by a statement that may write
}

// Stmt returns the prepared statement.
func (c Conn) Stmt(s Statement) *sql.Stmt {
	if c.tx != nil {
		*c.wrote = *c.wrote || !s.reads
		return c.tx.Stmt(c.prepared[s.index])
	}
	return c.prepared[s.index]
}

// prepare prepares the statements, and so reads the file: if the first read of a connection found the
// file empty, SQLite would remove the log.
func (s *Schema) prepare(ctx context.Context, conn *sql.DB) (c Conn, err error) {
	c.wrote = new(bool)
	for _, query := range s.statements {
		stmt, err := conn.PrepareContext(ctx, query)
		if err != nil {
			return c, err
		}
		c.prepared = append(c.prepared, stmt)
	}
	return c, nil
}

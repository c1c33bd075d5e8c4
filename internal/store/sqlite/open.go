package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"example.com/petstore/internal/db"
	"github.com/gofrs/flock"
	"github.com/pressly/goose/v3"
)

// The suffixes of the files beside the database.
const (
	logSuffix     = "-wal"
	indexSuffix   = "-shm" // of the log
	lockSuffix    = "-lock"
	journalSuffix = "-journal" // SQLite's, of a file without a log
)

const (
	lockTimeout = 5 * time.Second // while another process opens or restores the store
	longLog     = 64 << 20        // bytes of a log that takes a while to read
	maxReaders  = 8
)

// Open opens the store at path, or creates it with mode 0600, and brings its schema up
// to date. It rejects, and does not change, a database of another program, one with a
// newer schema, and one that cannot have a write-ahead log.
func Open(ctx context.Context, path string, o db.Options) (*Store, error) {
	s, err := newStore(path, o.Logger)
	if err != nil {
		return nil, err
	}
	_, _, err = s.attach(ctx, o.MustExist)
	if err == nil {
		err = s.start(ctx, path)
	}
	if err != nil {
		return nil, explain(path, errors.Join(err, s.release()))
	}
	return s, nil
}

// Migrate brings the schema of the store at path up to date, and returns the versions
// before and after. It creates a store if there is none.
func Migrate(ctx context.Context, path string, logger *slog.Logger) (from, to int64, err error) {
	s, err := newStore(path, logger)
	if err != nil {
		return 0, 0, err
	}
	from, to, err = s.attach(ctx, false)
	if err != nil {
		return 0, 0, explain(path, errors.Join(err, s.release()))
	}
	return from, to, s.finish()
}

// newStore returns a store that is not yet open. The caller must release it.
func newStore(path string, logger *slog.Logger) (*Store, error) {
	file, err := resolve(path)
	if err != nil {
		return nil, err
	}
	return &Store{
		file:   file,
		lock:   newLock(file),
		faults: faults{logger: cmp.Or(logger, slog.New(slog.DiscardHandler)), failed: make(chan error, 1)},
		writer: connect(file, toWrite),
		jobs:   make(chan *job, maxBatch),
		ended:  make(chan struct{}),
		idle:   make(chan statements, maxReaders),
	}, nil
}

// attach finds or creates the file, locks it, recovers its log if no other process has
// it, and brings its schema up to date; see Migrate.
func (s *Store) attach(ctx context.Context, mustExist bool) (from, to int64, err error) {
	if err := checkFile(s.file, mustExist); err != nil {
		return 0, 0, err
	}
	if !mustExist {
		// SQLite gives the mode of the file to those beside it.
		f, err := os.OpenFile(s.file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			s.faults.logger.Info("created a new store", "path", s.file)
			err = f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return 0, 0, err
		}
	}
	alone, err := s.lock.TryLock()
	if err != nil {
		return 0, 0, err
	}
	if alone {
		err = s.recoverLog()
	} else {
		err = s.shareLock(ctx)
	}
	if err != nil {
		return 0, 0, err
	}
	from, to, err = s.migrate(ctx)
	if err != nil {
		return 0, 0, err
	}
	return from, to, syncDir(s.file) // the file may be new
}

// start prepares the statements of a store that is attached to its file, and begins to
// run jobs. There is a reader per processor, within limits.
func (s *Store) start(ctx context.Context, path string) (err error) {
	s.inserts, err = prepare(ctx, s.writer, insertPet, insertIdempotencyKey)
	if err != nil {
		return err
	}
	for range min(max(4, runtime.GOMAXPROCS(0)), maxReaders) {
		db := connect(s.file, toRead)
		s.readers = append(s.readers, db)
		// This reads from the file. If it were emptied before the first read of a
		// connection, SQLite would remove the log.
		selects, err := prepare(ctx, db, selectPet, selectPets, selectPetsByStatus, selectKey, selectKeys, selectLastBackup)
		if err != nil {
			return err
		}
		s.idle <- selects
	}
	// path may be a symbolic link, which someone may change later.
	s.faults.files, err = identify(path, s.file+logSuffix, s.file+indexSuffix, s.file+lockSuffix)
	if err != nil {
		return err
	}
	if err := s.shareLock(ctx); err != nil {
		return err
	}
	if err := s.faults.check(); err != nil { // a restore may have run while there was no lock
		return err
	}
	go s.runJobs()
	return nil
}

// resolve returns the full path without symbolic links, where SQLite puts its other
// files. It rejects every path that cannot be a database's. The file need not exist.
func resolve(path string) (file string, err error) {
	refuse := func(reason string) (string, error) { return "", explain(path, errors.New(reason)) }
	if path == "" || strings.HasPrefix(path, ":") { // SQLite does not take these for files
		return refuse("it is not a file name; give the path of a file")
	}
	name, err := filepath.Abs(path)
	if err != nil {
		return "", explain(path, err)
	}
	file, err = filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Readlink(name); err == nil {
			return refuse("it is a symbolic link to nothing")
		}
		file, err = filepath.EvalSymlinks(filepath.Dir(name))
		file = filepath.Join(file, filepath.Base(name))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return refuse("its folder does not exist")
	}
	if err != nil {
		return "", explain(path, err)
	}
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return refuse("it is not a regular file")
	}
	for _, suffix := range []string{logSuffix, indexSuffix, lockSuffix, journalSuffix} {
		if strings.HasSuffix(file, suffix) {
			return refuse("a name that ends in " + suffix + " is that of a file of a store")
		}
	}
	return file, nil
}

// checkFile rejects a file that SQLite would read wrongly: one with hard links, since each
// of its names has a log of its own, and one beside the log of another, which SQLite would
// remove or apply to it. An empty file is like none.
func checkFile(file string, mustExist bool) error {
	info, err := os.Stat(file)
	missing := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
	switch {
	case err != nil && !missing:
		return err
	case err == nil && info.Sys().(*syscall.Stat_t).Nlink > 1:
		return fmt.Errorf("it has several names (hard links), and stores opened under different names would destroy "+
			"each other's pets; remove all names but one: find . -xdev -samefile %s", filepath.Base(file))
	case missing && holdsLog(file):
		return fmt.Errorf("it is missing or empty, but its log %s %w", file+logSuffix, db.ErrLoneLog)
	case missing && mustExist:
		return fmt.Errorf("%w at %s", db.ErrNone, file)
	case holdsLog(file) && hasNoLog(file): // a backup, which has no log before a store opens it
		return fmt.Errorf("it is a backup, but its log %s %w of the database that was there before",
			file+logSuffix, db.ErrLoneLog)
	}
	return nil
}

// holdsLog reports whether there is a log that is not empty.
func holdsLog(file string) bool {
	info, err := os.Stat(file + logSuffix)
	return err == nil && info.Size() > 0
}

// hasNoLog reports whether the header of the file says that it has no write-ahead log;
// see https://www.sqlite.org/fileformat2.html#file_format_version_numbers.
func hasNoLog(file string) bool {
	var header [20]byte
	if f, err := os.Open(file); err == nil {
		_, _ = io.ReadFull(f, header[:])
		_ = f.Close()
	}
	return string(header[:16]) == "SQLite format 3\x00" && header[18] == 1 && header[19] == 1
}

// newLock returns the lock of the database, not yet held. Every open store holds it
// shared, and a restore exclusively. A process that opens a store and finds nobody there
// holds it exclusively until the store is open. The lock file is never removed.
func newLock(file string) *flock.Flock {
	return flock.New(file+lockSuffix, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
}

// shareLock makes the lock a shared one. In between, it is not held.
func (s *Store) shareLock(ctx context.Context) error {
	if s.lock.RLocked() {
		return nil
	}
	if err := s.lock.Unlock(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	_, err := s.lock.TryRLockContext(ctx, 10*time.Millisecond)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("another process is opening or restoring it; wait until that is done")
	}
	return err
}

// recoverLog writes the log that a killed or failed process left anew and copies it into
// the file: after a failed fsync, the kernel may consider lost pages written. SQLite's
// lock keeps other programs from writing meanwhile. The caller must hold s.lock
// exclusively.
func (s *Store) recoverLog() error {
	log, err := os.OpenFile(s.file+logSuffix, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	if info, err := log.Stat(); err == nil && info.Size() > longLog {
		s.faults.logger.Info("reading a long log, which may take a while", "path", log.Name(), "bytes", info.Size())
	}
	db := connect(s.file, toWrite)
	tx, err := db.Begin()
	if err != nil {
		return errors.Join(err, db.Close())
	}
	if _, err = io.Copy(io.NewOffsetWriter(log, 0), log); err == nil {
		err = log.Sync()
	}
	if err != nil {
		return err // closing the database would copy the log
	}
	return errors.Join(tx.Rollback(), db.Close())
}

//go:embed migrations/*.sql
var embedded embed.FS

// migrations has the files of embedded at its top. Tests add one.
var migrations, _ = fs.Sub(embedded, "migrations")

// migrate is Migrate for a file that s is attached to.
func (s *Store) migrate(ctx context.Context) (from, to int64, err error) {
	from, newest, err := versions(ctx, s.writer)
	if err != nil {
		return 0, 0, err
	}
	var mode string
	if err := s.writer.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return 0, 0, err
	}
	if mode != "wal" { // SQLite reports no error
		return 0, 0, errors.New("SQLite cannot use a write-ahead log there; is it on a network file system?")
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, s.writer, migrations)
	if err != nil {
		return 0, 0, err
	}
	_, err = provider.Up(ctx)
	return from, newest, err
}

// versions returns the version of the schema, or 0 if there is none, and the newest that
// this program knows. It rejects tables of another program and a newer version.
func versions(ctx context.Context, conn *sql.DB) (version, newest int64, err error) {
	names, _ := fs.Glob(migrations, "*.sql") // in order
	newest, _ = goose.NumericComponent(names[len(names)-1])
	var tables, ours, versions int
	err = conn.QueryRowContext(ctx, `SELECT count(*), total(name IN ('pets', 'keys', 'goose_db_version')), total(name = 'goose_db_version')
		FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'`).Scan(&tables, &ours, &versions)
	if err != nil || tables == 0 {
		return 0, newest, err
	}
	if versions == 0 || tables > 1 && ours < 3 {
		return 0, 0, errors.New("it belongs to another program and was not changed")
	}
	err = conn.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	if err == nil && version > newest {
		err = fmt.Errorf("%w (version %d, and this one knows versions up to %d)", db.ErrNewer, version, newest)
	}
	return version, newest, err
}

// syncDir syncs the directory of the file called name. Some network file systems cannot
// do that, and need not.
func syncDir(name string) error {
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}

package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/engine/db"
	"example.com/petstore/engine/fault"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// hasCode reports whether SQLite's extended or primary result code in err is among codes.
func hasCode(err error, codes ...int) bool {
	e, ok := errors.AsType[*driver.Error](err)
	return ok && (slices.Contains(codes, e.Code()) || slices.Contains(codes, e.Code()&0xff))
}

// classify converts an SQLite error to a *fault.Error. A failed write is Unavailable, because a
// transaction counts only once its last frame is written. Other errors may follow that write,
// such as a failure to enlarge the index.
func classify(err error) error {
	_, classified := errors.AsType[*fault.Error](err)
	switch {
	case err == nil, classified, errors.Is(err, sql.ErrNoRows):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded): // of a statement
		return db.Canceled(err)
	case isBusy(err):
		return fault.Wrap(fault.Unavailable, fmt.Errorf("the store is busy, or another program has locked it: %w", err))
	case isFull(err):
		return fault.Wrap(fault.Unavailable, fmt.Errorf("the disk is full or cannot be written: %w", err))
	case hasCode(err, lib.SQLITE_READONLY):
		return fault.Wrap(fault.Unavailable, fmt.Errorf("the database is read-only: %w", err))
	}
	return fault.Wrap(fault.Internal, fmt.Errorf("the database failed: %w", err))
}

func isBusy(err error) bool    { return hasCode(err, lib.SQLITE_BUSY, lib.SQLITE_LOCKED) }
func isCorrupt(err error) bool { return hasCode(err, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB) }
func isFull(err error) bool {
	return hasCode(err, lib.SQLITE_FULL, lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_SHMSIZE)
}

var (
	errReplaced = errors.New("was removed or replaced while it was in use, so writing has stopped")
	errMounted  = errors.New("it is a mount of its own, so its log would be somewhere else; mount its folder")
)

// explain formats an error of the database at path for the operator.
func explain(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case hasCode(err, lib.SQLITE_NOTADB):
		return fmt.Errorf("%s is not an SQLite database", path)
	case isCorrupt(err):
		return fmt.Errorf("%s %w: %w", path, db.ErrDamaged, err)
	case hasCode(err, lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY):
		err = openError(path, err)
	case isBusy(err), isFull(err):
		err = classify(err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// openError returns why SQLite could not open the database at path or a file beside it: the first
// error of opening them again, or err.
func openError(path string, err error) error {
	file, _ := resolve(path)
	for _, suffix := range []string{"", logSuffix, indexSuffix, journalSuffix} {
		f, err := os.OpenFile(file+suffix, os.O_RDWR, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		_ = f.Close()
	}
	const mayWrite = 2
	if accessErr := syscall.Access(filepath.Dir(file), mayWrite); accessErr != nil {
		return fmt.Errorf("its folder %s cannot be written to: %w", filepath.Dir(file), accessErr)
	}
	return err
}

// record records what err says about the file and returns the error for the caller.
func (d *DB) record(err error) error {
	switch {
	case hasCode(err, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_IN_PAGE): // the index was cut
		return d.fail(err)
	case isCorrupt(err), hasCode(err, lib.SQLITE_IOERR_SHORT_READ):
		if failure := d.check(); failure != nil { // a replaced file may look damaged
			return failure
		}
		damage := fault.Wrap(fault.Unavailable, fmt.Errorf("the database is damaged: %w", err))
		if d.damage.CompareAndSwap(nil, damage) {
			d.logger.Error("the database is damaged", "error", err, "fix",
				"the command verify shows what is damaged; stop, move the database away and restore a sound backup")
		}
		return d.damage.Load()
	case isFull(err):
		d.diskFull.Store(true)
	}
	return err
}

// fail stops all writing and returns the first failure.
func (d *DB) fail(cause error) error {
	failure := fault.Wrap(fault.Internal, fmt.Errorf("the database can no longer be written to: %w", cause))
	if d.failure.CompareAndSwap(nil, failure) {
		d.failed <- failure
	}
	return d.failure.Load()
}

// check returns the failure, if there is one: an fsync failed, a file was replaced, or the log cut.
func (d *DB) check() error {
	if failure := d.failure.Load(); failure != nil {
		return failure
	}
	for name := range d.files {
		if d.replaced(name) {
			return d.fail(fmt.Errorf("%s %w", name, errReplaced))
		}
	}
	if d.logIsWhole() {
		return nil
	}
	// Another program may have copied the log into the file before it cut it.
	if _, err := d.measureLog(); err == nil && d.logIsWhole() {
		return nil
	}
	return d.fail(fmt.Errorf("%s was emptied or cut while it was in use, so writing has stopped", d.log.Name()))
}

// measureLog asks SQLite how many pages the log has.
func (d *DB) measureLog() (pages int64, err error) {
	err = d.writer.QueryRow("PRAGMA wal_checkpoint(NOOP)").Scan(new(int), &pages, new(int))
	if err == nil {
		d.logPages.Store(pages)
	}
	return pages, err
}

// logIsWhole reports whether the log has its header and all its pages. A log that was emptied grows
// again, without the magic number. See https://www.sqlite.org/fileformat2.html#wal_file_format.
func (d *DB) logIsWhole() bool {
	pages := d.logPages.Load()
	var header [32]byte // zero if it cannot be read
	_, _ = d.log.ReadAt(header[:], 0)
	magic, pageSize := binary.BigEndian.Uint32(header[:]), binary.BigEndian.Uint32(header[8:])
	info, err := d.log.Stat()
	return pages == 0 || magic&^1 == 0x377f0682 && err == nil && info.Size() >= 32+pages*int64(24+pageSize)
}

// replaced reports whether name no longer refers to the file that was opened, or the database is
// empty. It does not open the file: closing it would release SQLite's locks.
func (d *DB) replaced(name string) bool {
	info, err := os.Stat(name)
	return err != nil || !os.SameFile(d.files[name], info) || name == d.path && info.Size() == 0
}

func (d *DB) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(d, ch) }

// Collect implements prometheus.Collector. It does not wait for writes.
func (d *DB) Collect(ch chan<- prometheus.Metric) {
	send := func(kind prometheus.ValueType, name, help string, value float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, value)
	}
	oneIf := map[bool]float64{true: 1}
	send(prometheus.CounterValue, "sqlite_commits_total", "Committed transactions.", float64(d.commits.Load()))
	send(prometheus.GaugeValue, "sqlite_damaged", "1 if a corrupt page was found: nothing more is written.",
		oneIf[d.damage.Load() != nil])
	send(prometheus.GaugeValue, "sqlite_disk_full", "1 if the disk was full, or failed, at the last write.",
		oneIf[d.diskFull.Load()])
	if info, err := os.Stat(d.file + logSuffix); err == nil {
		send(prometheus.GaugeValue, "sqlite_wal_bytes", "Size of the write-ahead log.", float64(info.Size()))
	}
}

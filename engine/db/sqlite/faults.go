package sqlite

import (
	"database/sql"
	"encoding/binary"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/engine/fault"
	lib "modernc.org/sqlite/lib"
)

// faults records the faults of a database file. Errors of the database go through record.
// A write calls check before it begins and after its commit.
type faults struct {
	path   string                 // of the database, or of a link to it
	files  map[string]fs.FileInfo // the database and those beside it, when they were opened
	logger *slog.Logger
	failed chan error // holds one error

	writer   *sql.DB
	log      *os.File
	logPages atomic.Int64 // of the log, as SQLite last reported

	failure  atomic.Pointer[fault.Error] // why the process must end
	damage   atomic.Pointer[fault.Error] // why writing has stopped, although sound pages are still read
	diskFull atomic.Bool
}

// record records what err says about the file and returns the error for the caller.
func (f *faults) record(err error) error {
	switch {
	case hasCode(err, lib.SQLITE_IOERR_FSYNC):
		return f.fail(err)
	case isCorrupt(err):
		if failure := f.check(); failure != nil { // a replaced file may look damaged
			return failure
		}
		damage := fault.Wrap(fault.Unavailable, fmt.Errorf("the database is damaged: %w", err))
		if f.damage.CompareAndSwap(nil, damage) {
			f.logger.Error("the database is damaged", "error", err, "fix",
				"the command verify shows what is damaged; stop, move the database away and restore a sound backup")
		}
		return f.damage.Load()
	case isFull(err):
		f.diskFull.Store(true)
	}
	return err
}

// fail stops all writing and returns the first failure.
func (f *faults) fail(cause error) error {
	failure := fault.Wrap(fault.Internal, fmt.Errorf("the database can no longer be written to: %w", cause))
	if f.failure.CompareAndSwap(nil, failure) {
		f.failed <- failure
	}
	return f.failure.Load()
}

// check returns the failure, if there is one: an fsync failed, a file was replaced, or the log cut.
func (f *faults) check() error {
	if failure := f.failure.Load(); failure != nil {
		return failure
	}
	for name := range f.files {
		if f.replaced(name) {
			return f.fail(fmt.Errorf("%s %w", name, errReplaced))
		}
	}
	whole := f.logIsWhole()
	if !whole { // another program may have copied the log into the file before it cut it
		_, err := f.measureLog()
		whole = err == nil && f.logIsWhole()
	}
	if !whole {
		return f.fail(fmt.Errorf("%s was emptied or cut while it was in use, so writing has stopped", f.log.Name()))
	}
	return nil
}

// measureLog asks SQLite how many pages the log has.
func (f *faults) measureLog() (pages int64, err error) {
	err = f.writer.QueryRow("PRAGMA wal_checkpoint(NOOP)").Scan(new(int), &pages, new(int))
	if err == nil {
		f.logPages.Store(pages)
	}
	return pages, err
}

// logIsWhole reports whether the log has its header and all its pages. A log that was emptied grows
// again, without the magic number. See https://www.sqlite.org/fileformat2.html#wal_file_format.
func (f *faults) logIsWhole() bool {
	pages := f.logPages.Load()
	var header [32]byte // zero if it cannot be read
	_, _ = f.log.ReadAt(header[:], 0)
	magic, pageSize := binary.BigEndian.Uint32(header[:]), binary.BigEndian.Uint32(header[8:])
	info, err := f.log.Stat()
	return pages == 0 || magic&^1 == 0x377f0682 && err == nil && info.Size() >= 32+pages*int64(24+pageSize)
}

// replaced reports whether name no longer refers to the file that was opened, or the database is
// empty. It does not open the file: closing it would release SQLite's locks.
func (f *faults) replaced(name string) bool {
	info, err := os.Stat(name)
	return err != nil || !os.SameFile(f.files[name], info) || name == f.path && info.Size() == 0
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
		oneIf[d.faults.damage.Load() != nil])
	send(prometheus.GaugeValue, "sqlite_disk_full", "1 if the disk was full, or failed, at the last write.",
		oneIf[d.faults.diskFull.Load()])
	if info, err := os.Stat(d.file + logSuffix); err == nil {
		send(prometheus.GaugeValue, "sqlite_wal_bytes", "Size of the write-ahead log.", float64(info.Size()))
	}
}

package sqlite

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/fault"
	lib "modernc.org/sqlite/lib"
)

// faults records the faults of a database file. Errors of the database go through record.
// A write calls check before it begins and after its commit.
type faults struct {
	path   string                 // of the database, or of a link to it
	files  map[string]fs.FileInfo // the database and those beside it, when they were opened
	logger *slog.Logger
	failed chan error // holds one error

	writer    *sql.DB
	log       *os.File
	frameSize int64        // of a page in the log, with its header
	minLog    atomic.Int64 // minimum size of the log without its header

	failure  atomic.Pointer[fault.Error] // why the process must end
	damage   atomic.Pointer[fault.Error] // why writing has stopped, although sound pages are still read
	diskFull atomic.Bool
}

// record records what err says about the file and returns the error for the caller.
func (f *faults) record(err error) error {
	switch {
	case hasCode(err, lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_DIR_FSYNC):
		return f.fail(err)
	case isCorrupt(err):
		if failure := f.check(); failure != nil { // a replaced file may look damaged
			return failure
		}
		damage := fault.Wrap(fault.Unavailable, fmt.Errorf("the database is damaged: %w", err))
		if f.damage.CompareAndSwap(nil, damage) {
			f.logger.Error("the database is damaged", "error", err, "fix",
				"the command verify shows what is damaged; restore a sound backup with restore --force")
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
	if f.logIsWhole() {
		return nil
	}
	// Another program may have copied the log into the file before it cut it.
	if _, err := f.measureLog(); err == nil && f.logIsWhole() {
		return nil
	}
	return f.fail(fmt.Errorf("%s %w", f.log.Name(), errCut))
}

// measureLog asks SQLite how many pages the log has, and stores its minimum size.
func (f *faults) measureLog() (pages int64, err error) {
	err = f.writer.QueryRow("PRAGMA wal_checkpoint(NOOP)").Scan(new(int), &pages, new(int))
	if err == nil && f.frameSize == 0 {
		err = f.writer.QueryRow("SELECT page_size + 24 FROM pragma_page_size").Scan(&f.frameSize)
	}
	if err == nil {
		f.minLog.Store(pages * f.frameSize)
	}
	return pages, err
}

// logIsWhole reports whether the log has its header and its minimum size. A log that was emptied
// grows again at the next commit, but without the magic number of its header. See
// https://www.sqlite.org/fileformat2.html#wal_file_format.
func (f *faults) logIsWhole() bool {
	size := f.minLog.Load()
	if size == 0 {
		return true
	}
	var magic [4]byte
	_, readErr := f.log.ReadAt(magic[:], 0)
	info, err := f.log.Stat()
	return readErr == nil && err == nil && info.Size() >= 32+size && binary.BigEndian.Uint32(magic[:])&^1 == 0x377f0682
}

// replaced reports whether name no longer refers to the file that was opened, or the database is
// empty. It does not open the file: closing it would release SQLite's locks.
func (f *faults) replaced(name string) bool {
	info, err := os.Stat(name)
	return err != nil || !os.SameFile(f.files[name], info) || name == f.path && info.Size() == 0
}

// mayCopyLog reports whether the log may be copied into the file. After a failure
// it is left to the next process, unless only a file beside the database was replaced.
func (f *faults) mayCopyLog() bool {
	failure := f.failure.Load()
	return failure == nil || errors.Is(failure, errReplaced) && !f.replaced(f.path)
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

package sqlite

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/fault"
)

// faults is what a store knows about faults of its file. Errors of the database go
// through record. A write asks writable before it begins and check after its commit.
type faults struct {
	files  []openedFile // the database first
	logger *slog.Logger
	failed chan error // holds one error

	failure  atomic.Pointer[fault.Error] // why the process must end
	damage   atomic.Pointer[fault.Error] // why nothing is written, although sound pages are read
	diskFull atomic.Bool
}

// record records what err says about the file and returns the error to answer with.
// The first damage is logged.
func (f *faults) record(err error) error {
	switch {
	case isUnsynced(err):
		return f.fail(err)
	case isCorrupt(err):
		if failure := f.check(); failure != nil { // a replaced file may look damaged
			return failure
		}
		damage := fault.Wrap(fault.Unavailable, fmt.Errorf("the database is damaged: %w", err))
		if f.damage.CompareAndSwap(nil, damage) {
			f.logger.Error("the database is damaged", "error", err, "fix",
				"run petstore verify to see what is damaged, then restore a sound backup with petstore restore --force")
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

// check returns nil if a commit can be acknowledged, or else the reason why not.
func (f *faults) check() error {
	if failure := f.failure.Load(); failure != nil {
		return failure
	}
	if err := replaced(f.files); err != nil {
		return f.fail(err)
	}
	return nil
}

// writable returns nil if a write may begin, or else the reason why not.
func (f *faults) writable() error {
	if err := f.check(); err != nil {
		return err
	}
	if damage := f.damage.Load(); damage != nil {
		return damage
	}
	return nil
}

// openedFile is the database or a file beside it, as it was when the store was opened.
type openedFile struct {
	name string
	info fs.FileInfo
}

func identify(names ...string) (files []openedFile, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		files = append(files, openedFile{name, info})
	}
	return files, nil
}

// replaced returns an error unless the names still lead to the same files and the
// first, the database, is not empty. SQLite would keep writing to a removed file.
// The files are not opened: closing them would release SQLite's locks.
func replaced(files []openedFile) error {
	for i, f := range files {
		info, err := os.Stat(f.name)
		if err != nil || !os.SameFile(f.info, info) || i == 0 && info.Size() == 0 {
			return fmt.Errorf("%s %w", f.name, errReplaced)
		}
	}
	return nil
}

var (
	logBytes   = prometheus.NewDesc("sqlite_wal_bytes", "Size of the write-ahead log.", nil, nil)
	commits    = prometheus.NewDesc("sqlite_commits_total", "Committed transactions.", nil, nil)
	damaged    = prometheus.NewDesc("sqlite_damaged", "1 if a corrupt page was found: nothing more is written.", nil, nil)
	diskFull   = prometheus.NewDesc("sqlite_disk_full", "1 if the disk was full, or failed, at the last write.", nil, nil)
	lastBackup = prometheus.NewDesc("last_backup_timestamp_seconds", "Time at which the newest backup finished.", nil, nil)
)

const selectLastBackup = "SELECT finished_at FROM backups ORDER BY rowid DESC LIMIT 1"

func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{logBytes, commits, damaged, diskFull, lastBackup} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It does not wait for writes.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		ch <- prometheus.MustNewConstMetric(d, kind, v)
	}
	oneIf := map[bool]float64{true: 1}
	send(commits, prometheus.CounterValue, float64(s.commits.Load()))
	send(damaged, prometheus.GaugeValue, oneIf[s.faults.damage.Load() != nil])
	send(diskFull, prometheus.GaugeValue, oneIf[s.faults.diskFull.Load()])
	if info, err := os.Stat(s.file + logSuffix); err == nil {
		send(logBytes, prometheus.GaugeValue, float64(info.Size()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // well below a scrape's
	defer cancel()
	var at int64
	err := s.read(ctx, func(selects statements) error {
		return selects[selectLastBackup].QueryRow().Scan(&at)
	})
	if err == nil {
		send(lastBackup, prometheus.GaugeValue, float64(at))
	}
}

package sqlite

import (
	"context"
	"database/sql"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Stats holds figures about a store for its operator.
type Stats struct {
	LogBytes    int64     // size of the write-ahead log
	Commits     uint64    // transactions committed since the store was opened
	Writes      uint64    // writes in those transactions
	Corruptions uint64    // calls that found a corrupt page
	Damaged     bool      // whether any call did
	DiskFull    bool      // whether the last write found the disk full
	LastBackup  time.Time // end of the last backup; zero if there is none
}

// Stats returns the figures of the store. It does not wait for writes.
func (s *Store) Stats(ctx context.Context) Stats {
	stats := Stats{
		Commits:     s.writer.commits.Load(),
		Writes:      s.writer.writes.Load(),
		Corruptions: s.health.corruptions.Load(),
		Damaged:     s.health.damage.Load() != nil,
		DiskFull:    s.health.diskFull.Load(),
	}
	if info, err := os.Stat(s.file + logSuffix); err == nil {
		stats.LogBytes = info.Size()
	}
	var at sql.NullInt64
	if err := s.read(ctx, func() error {
		return s.readers.QueryRow("SELECT finished_at FROM backups ORDER BY rowid DESC LIMIT 1").Scan(&at)
	}); err == nil {
		stats.LastBackup = timeOrZero(at)
	}
	return stats
}

// collectTimeout is well below the usual scrape timeout.
const collectTimeout = 2 * time.Second

var (
	logBytes    = prometheus.NewDesc("sqlite_wal_bytes", "Size of the write-ahead log.", nil, nil)
	commits     = prometheus.NewDesc("sqlite_commits_total", "Committed transactions.", nil, nil)
	writes      = prometheus.NewDesc("sqlite_writes_total", "Writes in committed transactions.", nil, nil)
	corruptions = prometheus.NewDesc("sqlite_corruptions_total", "Calls that hit a corrupt page.", nil, nil)
	damaged     = prometheus.NewDesc("sqlite_damaged", "1 if this process found a corrupt page: nothing more is written.", nil, nil)
	diskFull    = prometheus.NewDesc("sqlite_disk_full", "1 if the last write found the disk full.", nil, nil)
	lastBackup  = prometheus.NewDesc("last_backup_timestamp_seconds", "Time at which the newest backup finished.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{logBytes, commits, writes, corruptions, damaged, diskFull, lastBackup} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	stats := s.Stats(ctx)
	oneIf := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	ch <- prometheus.MustNewConstMetric(logBytes, prometheus.GaugeValue, float64(stats.LogBytes))
	ch <- prometheus.MustNewConstMetric(commits, prometheus.CounterValue, float64(stats.Commits))
	ch <- prometheus.MustNewConstMetric(writes, prometheus.CounterValue, float64(stats.Writes))
	ch <- prometheus.MustNewConstMetric(corruptions, prometheus.CounterValue, float64(stats.Corruptions))
	ch <- prometheus.MustNewConstMetric(damaged, prometheus.GaugeValue, oneIf(stats.Damaged))
	ch <- prometheus.MustNewConstMetric(diskFull, prometheus.GaugeValue, oneIf(stats.DiskFull))
	if !stats.LastBackup.IsZero() {
		ch <- prometheus.MustNewConstMetric(lastBackup, prometheus.GaugeValue, float64(stats.LastBackup.Unix()))
	}
}

package sqlite

import (
	"context"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	logBytes   = prometheus.NewDesc("sqlite_wal_bytes", "Size of the write-ahead log.", nil, nil)
	commits    = prometheus.NewDesc("sqlite_commits_total", "Committed transactions.", nil, nil)
	writes     = prometheus.NewDesc("sqlite_writes_total", "Writes in committed transactions.", nil, nil)
	damaged    = prometheus.NewDesc("sqlite_damaged", "1 if a corrupt page was found: nothing more is written.", nil, nil)
	diskFull   = prometheus.NewDesc("sqlite_disk_full", "1 if the disk was full, or failed, at the last write.", nil, nil)
	lastBackup = prometheus.NewDesc("last_backup_timestamp_seconds", "Time at which the newest backup finished.", nil, nil)
)

func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{logBytes, commits, writes, damaged, diskFull, lastBackup} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It does not wait for writes.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		ch <- prometheus.MustNewConstMetric(d, kind, v)
	}
	oneIf := map[bool]float64{true: 1}
	send(commits, prometheus.CounterValue, float64(s.writer.commits.Load()))
	send(writes, prometheus.CounterValue, float64(s.writer.writes.Load()))
	send(damaged, prometheus.GaugeValue, oneIf[s.faults.damage.Load() != nil])
	send(diskFull, prometheus.GaugeValue, oneIf[s.faults.diskFull.Load()])
	if info, err := os.Stat(s.file + logSuffix); err == nil {
		send(logBytes, prometheus.GaugeValue, float64(info.Size()))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second) // well below a scrape's
	defer cancel()
	var at int64
	err := s.read(ctx, func() error {
		return s.readers.QueryRow("SELECT finished_at FROM backups ORDER BY rowid DESC LIMIT 1").Scan(&at)
	})
	if err == nil {
		send(lastBackup, prometheus.GaugeValue, float64(at))
	}
}

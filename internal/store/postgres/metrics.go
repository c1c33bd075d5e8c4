package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Stats holds figures about a store for its operator.
type Stats struct {
	SyncStandbys int    // synchronous standbys of the primary; -1 if unknown
	Connections  int    // open connections
	InUse        int    // connections in use
	Replaced     uint64 // times a connection pool was replaced because the server hung
}

// Stats returns the figures of the store. It does not wait for writes.
func (s *Store) Stats(ctx context.Context) Stats {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	stats := Stats{SyncStandbys: -1, Replaced: s.replaced.Load()}
	_ = s.read(ctx, func(ctx context.Context, c *pgx.Conn) (err error) {
		stats.SyncStandbys, err = countSync(ctx, c)
		return err
	})
	p := s.pools.Load()
	for _, pool := range []*pgxpool.Pool{p.writes, p.reads} {
		stat := pool.Stat()
		stats.Connections += int(stat.TotalConns())
		stats.InUse += int(stat.AcquiredConns())
	}
	return stats
}

var (
	connections  = prometheus.NewDesc("postgres_connections", "Open connections.", nil, nil)
	inUse        = prometheus.NewDesc("postgres_connections_in_use", "Connections in use.", nil, nil)
	syncStandbys = prometheus.NewDesc("postgres_sync_standbys", "Synchronous standbys of the primary; -1 if unknown.", nil, nil)
	replaced     = prometheus.NewDesc("postgres_pools_replaced_total", "Times the connections were replaced because the server hung.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections, inUse, syncStandbys, replaced} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	stats := s.Stats(context.Background())
	ch <- prometheus.MustNewConstMetric(connections, prometheus.GaugeValue, float64(stats.Connections))
	ch <- prometheus.MustNewConstMetric(inUse, prometheus.GaugeValue, float64(stats.InUse))
	ch <- prometheus.MustNewConstMetric(syncStandbys, prometheus.GaugeValue, float64(stats.SyncStandbys))
	ch <- prometheus.MustNewConstMetric(replaced, prometheus.CounterValue, float64(stats.Replaced))
}

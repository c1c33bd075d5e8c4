package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	connections  = prometheus.NewDesc("postgres_connections", "Open connections.", nil, nil)
	inUse        = prometheus.NewDesc("postgres_connections_in_use", "Connections in use.", nil, nil)
	syncStandbys = prometheus.NewDesc("postgres_sync_standbys", "Synchronous standbys that commits wait for; -1 if unknown.", nil, nil)
	syncRequired = prometheus.NewDesc("postgres_sync_required", "1 with --require-sync.", nil, nil)
)

// Describe implements prometheus.Collector.
func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections, inUse, syncStandbys, syncRequired} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v int) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
	writes, reads := s.writes.Stat(), s.reads.Stat()
	gauge(connections, int(writes.TotalConns()+reads.TotalConns()))
	gauge(inUse, int(writes.AcquiredConns()+reads.AcquiredConns()))
	gauge(syncStandbys, s.countStandbys())
	required := 0
	if s.requireSync {
		required = 1
	}
	gauge(syncRequired, required)
}

// countStandbys returns the number of synchronous standbys that commits wait for,
// or -1 if it is unknown. It asks on a new connection, because those in the pools
// keep the settings that their user had when they were opened.
func (s *Store) countStandbys() int {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.reads.Config().ConnConfig)
	if err != nil {
		return -1
	}
	defer disconnect(conn)
	d, err := readDurability(ctx, conn)
	if err != nil {
		return -1
	}
	return d.standbysWaitedFor()
}

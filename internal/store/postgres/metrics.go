package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
)

var (
	connections  = prometheus.NewDesc("postgres_connections", "Open connections.", nil, nil)
	inUse        = prometheus.NewDesc("postgres_connections_in_use", "Connections in use.", nil, nil)
	syncStandbys = prometheus.NewDesc("postgres_sync_standbys", "Synchronous standbys that commits wait for, on Citus those of the node with the fewest; -1 if unknown.", nil, nil)
	syncRequired = prometheus.NewDesc("postgres_sync_required", "1 with --require-sync.", nil, nil)
)

func (s *Store) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connections, inUse, syncStandbys, syncRequired} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. It asks for the standbys on a new
// connection, because those in the pools keep the settings that the user had when
// they were opened.
func (s *Store) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), outageWait)
	defer cancel()
	standbys := -1 // of the worst node
	if conn, err := pgx.ConnectConfig(ctx, s.reads.Config().ConnConfig); err == nil {
		defer disconnect(conn)
		if nodes, err := readDurability(ctx, conn, s.citus); err == nil {
			standbys = slices.MinFunc(nodes, func(a, b durability) int { return a.Standbys - b.Standbys }).Standbys
		}
	}
	writes, reads := s.writes.Stat(), s.reads.Stat()
	for desc, v := range map[*prometheus.Desc]float64{
		connections:  float64(writes.TotalConns() + reads.TotalConns()),
		inUse:        float64(writes.AcquiredConns() + reads.AcquiredConns()),
		syncStandbys: float64(standbys),
		syncRequired: map[bool]float64{true: 1}[s.requireSync],
	} {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, v)
	}
}

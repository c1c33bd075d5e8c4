package store

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/old/edge/metrics"
	"example.com/petstore/internal/old/pets"
)

// Observed is a store whose calls are timed, as far as requests make them. It is a
// collector of their metrics and of the store's own figures.
type Observed struct {
	pets.Store
	stats    pets.StatsReporter // nil where the store has no figures
	calls    map[string]prometheus.Observer
	failures *prometheus.CounterVec
	vectors  []prometheus.Collector
}

// The calls, as their label has them.
const (
	callCreate = "create"
	callGet    = "get"
	callList   = "list"
	callKey    = "key"
)

// Observe returns s with its calls timed.
func Observe(s pets.Store) *Observed {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "store_call_duration_seconds", Help: "Calls of the store, and how long they took.", Buckets: metrics.Seconds(),
	}, []string{"call"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "store_failures_total", Help: "Calls of the store that failed, by the kind of the error.",
	}, []string{"call", "kind"})
	o := &Observed{Store: s, calls: map[string]prometheus.Observer{}, failures: failures, vectors: []prometheus.Collector{durations, failures}}
	o.stats, _ = s.(pets.StatsReporter)
	// A rate needs a zero before the first failure.
	for _, call := range []string{callCreate, callGet, callList, callKey} {
		o.calls[call] = durations.WithLabelValues(call)
		for _, kind := range []pets.Kind{pets.Unavailable, pets.Internal} {
			failures.WithLabelValues(call, kind.String())
		}
	}
	return o
}

// observe counts and times a call. Of its error it counts what is the store's own
// fault.
func (o *Observed) observe(call string, start time.Time, err error) {
	o.calls[call].Observe(time.Since(start).Seconds())
	if err == nil {
		return
	}
	switch kind := pets.KindOf(err); kind {
	case pets.Unavailable, pets.Internal:
		o.failures.WithLabelValues(call, kind.String()).Inc()
	}
}

// CreatePet implements pets.Store, as do the others.
func (o *Observed) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	start := time.Now()
	pet, err := o.Store.CreatePet(ctx, p)
	o.observe(callCreate, start, err)
	return pet, err
}

// Pet see CreatePet.
func (o *Observed) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	start := time.Now()
	pet, err := o.Store.Pet(ctx, id)
	o.observe(callGet, start, err)
	return pet, err
}

// Pets see CreatePet.
func (o *Observed) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	start := time.Now()
	page, err := o.Store.Pets(ctx, q)
	o.observe(callList, start, err)
	return page, err
}

// Key see CreatePet.
func (o *Observed) Key(ctx context.Context, id string) (pets.Key, error) {
	start := time.Now()
	key, err := o.Store.Key(ctx, id)
	o.observe(callKey, start, err)
	return key, err
}

// Describe implements prometheus.Collector. It describes nothing, since the figures
// depend on the store.
func (o *Observed) Describe(chan<- *prometheus.Desc) {}

// statsTimeout bounds a look at the store's figures, below Prometheus' own.
const statsTimeout = 2 * time.Second

// Collect implements prometheus.Collector.
func (o *Observed) Collect(ch chan<- prometheus.Metric) {
	for _, v := range o.vectors {
		v.Collect(ch)
	}
	if o.stats == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	stats := o.stats.Stats(ctx)
	if stats.Cluster != nil {
		collectCluster(metrics.Output(ch), stats.Cluster)
	} else {
		collectFile(metrics.Output(ch), stats)
	}
}

func collectCluster(out metrics.Output, c *pets.ClusterStats) {
	out.Gauge("postgres_connections", "Open connections to the cluster.", float64(c.Connections))
	out.Gauge("postgres_connections_in_use", "Connections on which statements run.", float64(c.InUse))
	out.Gauge("postgres_timeline", "The highest timeline met, which grows with every promotion.", float64(c.Timeline))
	out.Gauge("postgres_old_primaries", "Servers of a lower timeline that still accept writes.", float64(c.OldPrimaries))
	out.Gauge("postgres_sync_standbys", "Synchronous standbys of the primary; -1 where unknown.", float64(c.SyncStandbys))
	out.Counter("postgres_abandoned_total", "How often a server that hung or was succeeded was abandoned.", float64(c.Abandoned))
	out.Gauge("postgres_outage", "1 while calls fail at once since no server can be reached.", metrics.Boolean(c.Outage))
	for by, n := range c.Reads {
		out.Counter("postgres_reads_total", "Reads of animals and pages by the server that served them and the reason: exact for a standby.", float64(n), "server", by.Server, "reason", by.Reason)
	}
	for server, host := range c.Hosts {
		out.Gauge("postgres_standby_fit", "1 while the server serves reads as a standby.", metrics.Boolean(host.Fit), "server", server)
		out.Gauge("postgres_standby_lag_seconds", "How long the standby took to come to the primary's position; while it serves no reads, since when it has not come there.", host.Lag.Seconds(), "server", server)
	}
}

func collectFile(out metrics.Output, s pets.Stats) {
	out.Gauge("sqlite_wal_bytes", "Size of the write-ahead log.", float64(s.LogBytes))
	out.Gauge("sqlite_wal_held_bytes", "The part of the log that readers keep from being folded into the file.", float64(s.LogHeld))
	out.Counter("sqlite_commits_total", "Transactions committed.", float64(s.Commits))
	out.Counter("sqlite_writes_total", "Writes in those transactions.", float64(s.Writes))
	out.Counter("sqlite_corruptions_total", "Reads and writes that met a damaged page.", float64(s.Corruptions))
	out.Gauge("sqlite_disk_full", "1 while the last write found no space.", metrics.Boolean(s.DiskFull))
	if !s.LastBackup.IsZero() {
		out.Gauge("last_backup_timestamp_seconds", "The end of the newest backup.", float64(s.LastBackup.Unix()))
	}
}

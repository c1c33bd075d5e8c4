package store

import (
	"context"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/pets"
)

const namespace = "petstore"

// Observe wraps s to measure the calls that requests make. It registers these
// metrics and the store's Stats with reg.
func Observe(s pets.Store, kind string, reg prometheus.Registerer) pets.Store {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "store_call_duration_seconds", Help: "Duration of store calls.",
		Buckets: []float64{.00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 8},
	}, []string{"call"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: namespace, Name: "store_failures_total", Help: "Failed store calls, by kind of error.",
	}, []string{"call", "kind"})
	reg.MustRegister(durations, failures)
	measured := func(name string) call {
		c := call{duration: durations.WithLabelValues(name), failures: map[pets.Kind]prometheus.Counter{}}
		for _, kind := range []pets.Kind{pets.Unavailable, pets.Internal} {
			c.failures[kind] = failures.WithLabelValues(name, kind.String())
		}
		return c
	}
	if r, ok := s.(pets.StatsReporter); ok {
		reg.MustRegister(statsCollector{r, figures[kind]})
	}
	return &observed{s, measured("create"), measured("get"), measured("list"), measured("key")}
}

// call holds the metrics of one method. It counts failures of the store, not
// errors of the caller.
type call struct {
	duration prometheus.Observer
	failures map[pets.Kind]prometheus.Counter
}

func (c call) done(start time.Time, err error) {
	c.duration.Observe(time.Since(start).Seconds())
	if err == nil {
		return
	}
	if counter, ok := c.failures[pets.KindOf(err)]; ok {
		counter.Inc()
	}
}

type observed struct {
	pets.Store
	create, get, list, key call
}

func (o *observed) CreatePet(ctx context.Context, p pets.NewPet) (pets.Pet, error) {
	start := time.Now()
	pet, err := o.Store.CreatePet(ctx, p)
	o.create.done(start, err)
	return pet, err
}

func (o *observed) Pet(ctx context.Context, id int64) (pets.Pet, error) {
	start := time.Now()
	pet, err := o.Store.Pet(ctx, id)
	o.get.done(start, err)
	return pet, err
}

func (o *observed) Pets(ctx context.Context, q pets.Query) (pets.Page, error) {
	start := time.Now()
	page, err := o.Store.Pets(ctx, q)
	o.list.done(start, err)
	return page, err
}

func (o *observed) Key(ctx context.Context, id string) (pets.Key, error) {
	start := time.Now()
	key, err := o.Store.Key(ctx, id)
	o.key.done(start, err)
	return key, err
}

// figure is a metric computed from pets.Stats.
type figure struct {
	name, help string
	valueType  prometheus.ValueType
	value      func(pets.Stats) float64
}

func (f figure) desc() *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", f.name), f.help, nil, nil)
}

const (
	counter = prometheus.CounterValue
	gauge   = prometheus.GaugeValue
)

// figures lists the metrics of each kind of store.
var figures = map[string][]figure{
	"sqlite": {
		{"sqlite_wal_bytes", "Size of the write-ahead log.", gauge, func(s pets.Stats) float64 { return float64(s.LogBytes) }},
		{"sqlite_commits_total", "Committed transactions.", counter, func(s pets.Stats) float64 { return float64(s.Commits) }},
		{"sqlite_writes_total", "Writes in committed transactions.", counter, func(s pets.Stats) float64 { return float64(s.Writes) }},
		{"sqlite_corruptions_total", "Calls that hit a corrupt page.", counter, func(s pets.Stats) float64 { return float64(s.Corruptions) }},
		{"sqlite_disk_full", "1 if the last write found the disk full.", gauge, func(s pets.Stats) float64 {
			if s.DiskFull {
				return 1
			}
			return 0
		}},
		{"last_backup_timestamp_seconds", "Time at which the newest backup finished.", gauge, func(s pets.Stats) float64 {
			if s.LastBackup.IsZero() {
				return math.NaN()
			}
			return float64(s.LastBackup.Unix())
		}},
	},
	"postgres": {
		{"postgres_connections", "Open connections.", gauge, func(s pets.Stats) float64 { return float64(s.Connections) }},
		{"postgres_connections_in_use", "Connections in use.", gauge, func(s pets.Stats) float64 { return float64(s.InUse) }},
		{"postgres_sync_standbys", "Synchronous standbys of the primary; -1 if unknown.", gauge, func(s pets.Stats) float64 { return float64(s.SyncStandbys) }},
		{"postgres_pools_replaced_total", "Times the connections were replaced because the server hung.", counter, func(s pets.Stats) float64 { return float64(s.Replaced) }},
	},
}

// statsTimeout is well below the usual scrape timeout.
const statsTimeout = 2 * time.Second

type statsCollector struct {
	reporter pets.StatsReporter
	figures  []figure
}

func (c statsCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range c.figures {
		ch <- f.desc()
	}
}

func (c statsCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	stats := c.reporter.Stats(ctx)
	for _, f := range c.figures {
		if v := f.value(stats); !math.IsNaN(v) { // NaN: unknown
			ch <- prometheus.MustNewConstMetric(f.desc(), f.valueType, v)
		}
	}
}

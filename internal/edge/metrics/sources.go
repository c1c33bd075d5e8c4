package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/edge/server"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/keys"
)

// Sources are the counters of other packages. A nil function, and Stats that is nil,
// leave their metrics out.
type Sources struct {
	Version, Commit, GoVersion, Store string

	Limits      edge.Limits
	Connections func() server.ConnectionStats
	Draining    func() bool
	Certificate func() time.Time // when it expires; the zero time without TLS
	LogMissing  func() int64     // lines since the start
	KeyCache    func() keys.CacheStats
	Stats       pets.StatsReporter
}

// statsTimeout bounds a look at the store's figures, below Prometheus' own.
const statsTimeout = 2 * time.Second

// Describe implements prometheus.Collector. It describes nothing, since the metrics
// depend on the sources.
func (s Sources) Describe(chan<- *prometheus.Desc) {}

const (
	shedName = "petstore_requests_shed_total"
	shedHelp = "Requests refused with 503 for lack of room."
)

// Collect implements prometheus.Collector.
func (s Sources) Collect(ch chan<- prometheus.Metric) {
	out := &output{ch: ch}
	out.gauge("petstore_build_info", "The program.", 1, "version", s.Version, "commit", s.Commit, "go_version", s.GoVersion, "store", s.Store)
	s.collectLimits(out)
	if s.Connections != nil {
		c := s.Connections()
		const help = "Open connections of clients."
		out.gauge("petstore_connections", help, float64(c.Active), "state", "active")
		out.gauge("petstore_connections", help, float64(c.Idle), "state", "idle")
		out.gauge("petstore_connections_limit", "How many connections there may be: --max-connections.", float64(c.Limit))
		out.counter("petstore_connections_evicted_total", "Connections closed at the limit to make room.", float64(c.Evicted))
	}
	if s.Draining != nil {
		out.gauge("petstore_draining", "1 once the server has been told to end.", boolean(s.Draining()))
	}
	if s.LogMissing != nil {
		out.counter("petstore_log_lines_missing_total", "Lines that were dropped from the log, or could not be written.", float64(s.LogMissing()))
	}
	if s.Certificate != nil {
		if expiry := s.Certificate(); !expiry.IsZero() {
			out.gauge("petstore_tls_certificate_expiry_timestamp_seconds", "When the certificate in use expires.", float64(expiry.Unix()))
		}
	}
	if s.KeyCache != nil {
		cache := s.KeyCache()
		const help = "Keys that were found in the cache, and asked of the store."
		out.counter("petstore_key_cache_lookups_total", help, float64(cache.Hits), "result", "hit")
		out.counter("petstore_key_cache_lookups_total", help, float64(cache.Misses), "result", "miss")
		out.counter(shedName, shedHelp, float64(cache.Shed), "reason", "key_lookup")
	}
	if s.Stats != nil {
		s.collectStats(out)
	}
}

func (s Sources) collectLimits(out *output) {
	calls, responses := s.Limits.Calls.Stats(), s.Limits.Responses.Stats()
	out.gauge("petstore_store_calls_in_flight", "Calls of the store under way.", float64(calls.UnderWay))
	out.gauge("petstore_store_calls_queued", "Requests that wait to call the store.", float64(calls.Waiting))
	out.gauge("petstore_store_calls_limit", "How many calls of the store may be under way: --max-in-flight.", float64(calls.Most))
	out.gauge("petstore_response_bytes_in_flight", "Bytes of large responses that are being written.", float64(responses.Held))
	out.gauge("petstore_response_bytes_limit", "How many bytes of large responses there may be.", float64(responses.Most))
	out.counter(shedName, shedHelp, float64(calls.Refused), "reason", "store_queue")
	out.counter(shedName, shedHelp, float64(responses.Refused), "reason", "response_budget")
	out.counter("petstore_requests_limited_total", "Requests refused with 429: --rate-limit.", float64(s.Limits.Rates.Refused()))
}

func (s Sources) collectStats(out *output) {
	ctx, cancel := context.WithTimeout(context.Background(), statsTimeout)
	defer cancel()
	stats := s.Stats.Stats(ctx)
	if cluster := stats.Cluster; cluster != nil {
		out.gauge("petstore_postgres_connections", "Open connections to the cluster.", float64(cluster.Connections))
		out.gauge("petstore_postgres_connections_in_use", "Connections on which statements run.", float64(cluster.InUse))
		out.gauge("petstore_postgres_timeline", "The highest timeline met, which grows with every promotion.", float64(cluster.Timeline))
		out.gauge("petstore_postgres_old_primaries", "Servers of a lower timeline that still accept writes.", float64(cluster.OldPrimaries))
		out.gauge("petstore_postgres_sync_standbys", "Synchronous standbys of the primary; -1 where unknown.", float64(cluster.SyncStandbys))
		out.counter("petstore_postgres_abandoned_total", "How often a server that hung or was succeeded was abandoned.", float64(cluster.Abandoned))
		out.gauge("petstore_postgres_outage", "1 while calls fail at once since no server can be reached.", boolean(cluster.Outage))
		return
	}
	out.gauge("petstore_sqlite_wal_bytes", "Size of the write-ahead log.", float64(stats.LogBytes))
	out.counter("petstore_sqlite_commits_total", "Transactions committed.", float64(stats.Commits))
	out.counter("petstore_sqlite_writes_total", "Writes in those transactions.", float64(stats.Writes))
	out.counter("petstore_sqlite_corruptions_total", "Reads and writes that met a damaged page.", float64(stats.Corruptions))
	out.gauge("petstore_sqlite_disk_full", "1 while the last write found no space.", boolean(stats.DiskFull))
	if !stats.LastBackup.IsZero() {
		out.gauge("petstore_last_backup_timestamp_seconds", "The end of the newest backup.", float64(stats.LastBackup.Unix()))
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// output makes metrics of one scrape.
type output struct{ ch chan<- prometheus.Metric }

func (o *output) gauge(name, help string, value float64, labels ...string) {
	o.send(prometheus.GaugeValue, name, help, value, labels)
}

func (o *output) counter(name, help string, value float64, labels ...string) {
	o.send(prometheus.CounterValue, name, help, value, labels)
}

// send makes a metric; labels are names and values by turns.
func (o *output) send(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	o.ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
}

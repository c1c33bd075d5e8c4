// Package metrics counts and times requests and calls of the store, for Prometheus.
// Where it can, it reads counters of other packages at a scrape, so that a request
// pays for little more than its histogram. The names begin with petstore_.
//
// All of it may cost 5 % of the processor time of a get, the cheapest request.
// `make bench` measures it; internal/proof/bench/README.md has the figure.
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
)

var _ edge.Observer = (*Metrics)(nil)

// Metrics are the metrics of one service. It is safe for concurrent use.
type Metrics struct {
	registry      *prometheus.Registry
	requests      *prometheus.HistogramVec
	inFlight      prometheus.Gauge
	deprecated    *prometheus.CounterVec
	storeCalls    map[string]prometheus.Observer
	storeFailures *prometheus.CounterVec

	// Series found by their labels before: the search costs more than all else here.
	mu        sync.RWMutex
	durations map[outcome]prometheus.Observer
	callers   map[caller]prometheus.Counter
	keys      map[string]bool // keys with a series of deprecated calls of their own
}

// outcome is the labels of a histogram of requests.
type outcome struct {
	operation string
	status    int
}

// caller is the labels of a count of deprecated calls.
type caller struct{ operation, keyID string }

// seconds are the bounds of the histograms: from a read of memory to the deadline
// of a request.
var seconds = []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 8}

// New returns metrics that read the counters of sources at each scrape.
func New(sources Sources) *Metrics {
	storeCalls := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "petstore_store_call_duration_seconds", Help: "Calls of the store, and how long they took.", Buckets: seconds,
	}, []string{"call"})
	m := &Metrics{
		registry:   prometheus.NewRegistry(),
		storeCalls: map[string]prometheus.Observer{},
		durations:  map[outcome]prometheus.Observer{},
		callers:    map[caller]prometheus.Counter{},
		keys:       map[string]bool{},
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "petstore_http_request_duration_seconds", Help: "Requests by operation and status, and how long they took. 499: the client left.", Buckets: seconds,
		}, []string{"operation", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "petstore_http_requests_in_flight", Help: "Requests that are being worked on.",
		}),
		deprecated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_deprecated_calls_total", Help: "Calls of deprecated operations by the ID of the API key; beyond 100 keys, other.",
		}, []string{"operation", "key"}),
		storeFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "petstore_store_failures_total", Help: "Calls of the store that failed, by the kind of the error.",
		}, []string{"call", "kind"}),
	}
	// A rate needs a zero before the first failure.
	for _, call := range []string{callCreate, callGet, callList, callKey} {
		m.storeCalls[call] = storeCalls.WithLabelValues(call)
		for _, kind := range []pets.Kind{pets.Unavailable, pets.Internal} {
			m.storeFailures.WithLabelValues(call, kind.String())
		}
	}
	m.registry.MustRegister(m.requests, m.inFlight, m.deprecated, storeCalls, m.storeFailures, sources,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Begin implements edge.Observer.
func (m *Metrics) Begin() { m.inFlight.Inc() }

// End implements edge.Observer.
func (m *Metrics) End(o edge.Observation) {
	m.inFlight.Dec()
	m.duration(outcome{o.Operation, o.Status}).Observe(o.Duration.Seconds())
	if o.Deprecated && o.KeyID != "" {
		m.deprecatedCalls(caller{o.Operation, o.KeyID}).Inc()
	}
}

// duration returns the histogram of an outcome. There are few: operations and
// statuses are of the service's own choice.
func (m *Metrics) duration(o outcome) prometheus.Observer {
	m.mu.RLock()
	h, ok := m.durations[o]
	m.mu.RUnlock()
	if ok {
		return h
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h = m.requests.WithLabelValues(o.operation, strconv.Itoa(o.status))
	m.durations[o] = h
	return h
}

// maxKeys bounds how many keys have a series of their own.
const maxKeys = 100

// deprecatedCalls returns the count of a caller's deprecated calls: that of all
// others once there are maxKeys.
func (m *Metrics) deprecatedCalls(c caller) prometheus.Counter {
	m.mu.RLock()
	count, ok := m.callers[c]
	m.mu.RUnlock()
	if ok {
		return count
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.keys[c.keyID] && len(m.keys) >= maxKeys {
		return m.deprecated.WithLabelValues(c.operation, "other")
	}
	m.keys[c.keyID] = true
	count = m.deprecated.WithLabelValues(c.operation, c.keyID)
	m.callers[c] = count
	return count
}

func (m *Metrics) observeCall(call string, start time.Time, kind string) {
	m.storeCalls[call].Observe(time.Since(start).Seconds())
	if kind != "" {
		m.storeFailures.WithLabelValues(call, kind).Inc()
	}
}

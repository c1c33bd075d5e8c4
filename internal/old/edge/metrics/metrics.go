// Package metrics counts and times requests, for Prometheus. A package with
// figures of its own has a collector, which writes them by an Output.
//
// All of it may cost 5 % of the processor time of a get, the cheapest request.
// `make bench` measures it; internal/proof/bench/README.md has the figure.
package metrics

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Requests are the metrics of requests. It is safe for concurrent use; a nil one
// keeps none.
type Requests struct {
	requests   *prometheus.HistogramVec
	inFlight   prometheus.Gauge
	deprecated *prometheus.CounterVec

	// Series found by their labels before: the search costs more than all else here.
	mu        sync.RWMutex
	durations map[outcome]prometheus.Observer
	callers   map[caller]prometheus.Counter
	keys      map[string]bool // keys with a series of deprecated calls of their own
}

// Request is a request that has ended.
type Request struct {
	Operation  string // an operationId, or livez, readyz, document, docs, unknown
	Status     int    // 499 where the client left first
	Duration   time.Duration
	KeyID      string // "" where no key was valid
	Deprecated bool   // the operation is
}

// outcome is the labels of a histogram of requests.
type outcome struct {
	operation string
	status    int
}

// caller is the labels of a count of deprecated calls.
type caller struct{ operation, keyID string }

// Seconds returns the bounds of histograms: from a read of memory to the deadline of
// a request.
func Seconds() []float64 {
	return []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 8}
}

// New returns metrics that it has registered.
func New(to prometheus.Registerer) (*Requests, error) {
	m := &Requests{
		durations: map[outcome]prometheus.Observer{},
		callers:   map[caller]prometheus.Counter{},
		keys:      map[string]bool{},
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "http_request_duration_seconds", Help: "Requests by operation and status, and how long they took. 499: the client left.", Buckets: Seconds(),
		}, []string{"operation", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "http_requests_in_flight", Help: "Requests that are being worked on.",
		}),
		deprecated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "deprecated_calls_total", Help: "Calls of deprecated operations by the ID of the API key; beyond 100 keys, other.",
		}, []string{"operation", "key"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.inFlight, m.deprecated} {
		if err := to.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Begin counts a request that has begun. End must follow.
func (m *Requests) Begin() {
	if m != nil {
		m.inFlight.Inc()
	}
}

// End counts and times a request.
func (m *Requests) End(r Request) {
	if m == nil {
		return
	}
	m.inFlight.Dec()
	m.duration(outcome{r.Operation, r.Status}).Observe(r.Duration.Seconds())
	if r.Deprecated && r.KeyID != "" {
		m.deprecatedCalls(caller{r.Operation, r.KeyID}).Inc()
	}
}

// duration returns the histogram of an outcome. There are few: operations and
// statuses are of the service's own choice.
func (m *Requests) duration(o outcome) prometheus.Observer {
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
func (m *Requests) deprecatedCalls(c caller) prometheus.Counter {
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

package edge

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/edge/metrics"
)

// registerMetrics registers the edge's own metrics and the service's, each behind
// the name of the service. It returns nil where no metrics are kept.
func (e *edge) registerMetrics() (*metrics.Requests, error) {
	if e.Metrics == nil {
		return nil, nil
	}
	named := prometheus.WrapRegistererWithPrefix(e.Name+"_", e.Metrics)
	for _, c := range append([]prometheus.Collector{e.bounds}, e.Collectors...) {
		if err := named.Register(c); err != nil {
			return nil, err
		}
	}
	return metrics.New(named)
}

// Describe implements prometheus.Collector.
func (b bounds) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (b bounds) Collect(ch chan<- prometheus.Metric) {
	out := metrics.Output(ch)
	calls, responses := b.calls.Stats(), b.responses.Stats()
	out.Gauge("store_calls_in_flight", "Calls of the store under way.", float64(calls.UnderWay))
	out.Gauge("store_calls_queued", "Requests that wait to call the store.", float64(calls.Waiting))
	out.Gauge("store_calls_limit", "How many calls of the store may be under way: --max-in-flight.", float64(calls.Most))
	out.Gauge("response_bytes_in_flight", "Bytes of large responses that are being written.", float64(responses.Held))
	out.Gauge("response_bytes_limit", "How many bytes of large responses there may be.", float64(responses.Most))
	out.Counter(metrics.Shed, metrics.ShedHelp, float64(calls.Refused), "reason", "store_queue")
	out.Counter(metrics.Shed, metrics.ShedHelp, float64(responses.Refused), "reason", "response_budget")
	out.Counter("requests_limited_total", "Requests refused with 429: --rate-limit.", float64(b.rates.Refused()))
}

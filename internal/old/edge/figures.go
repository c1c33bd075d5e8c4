package edge

import (
	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/old/edge/limit"
	"example.com/petstore/internal/old/edge/metrics"
)

// registerMetrics registers the edge's own metrics and the service's, each behind
// the name of the service. It returns nil where no metrics are kept.
func registerMetrics(s *Service, rooms pools) (*metrics.Requests, error) {
	if s.Metrics == nil {
		return nil, nil
	}
	named := prometheus.WrapRegistererWithPrefix(s.Name+"_", s.Metrics)
	for _, c := range append([]prometheus.Collector{rooms}, s.Collectors...) {
		if err := named.Register(c); err != nil {
			return nil, err
		}
	}
	return metrics.New(named)
}

// pools are the rooms of callers, whose figures are told in sum. One may be nil.
type pools [2]*pool

// Describe implements prometheus.Collector.
func (pools) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (all pools) Collect(ch chan<- prometheus.Metric) {
	var calls limit.CallStats
	var responses limit.BudgetStats
	var limited int64
	for _, p := range all {
		if p == nil {
			continue
		}
		c, r := p.calls.Stats(), p.responses.Stats()
		calls.UnderWay, calls.Waiting, calls.Most, calls.Refused = calls.UnderWay+c.UnderWay, calls.Waiting+c.Waiting, calls.Most+c.Most, calls.Refused+c.Refused
		responses.Held, responses.Most, responses.Refused = responses.Held+r.Held, responses.Most+r.Most, responses.Refused+r.Refused
		limited += p.rates.Refused()
	}
	out := metrics.Output(ch)
	out.Gauge("store_calls_in_flight", "Calls of operations under way.", float64(calls.UnderWay))
	out.Gauge("store_calls_queued", "Requests that wait for the call of their operation.", float64(calls.Waiting))
	out.Gauge("store_calls_limit", "How many calls may be under way: --max-in-flight.", float64(calls.Most))
	out.Gauge("response_bytes_in_flight", "Bytes of large responses that are being written.", float64(responses.Held))
	out.Gauge("response_bytes_limit", "How many bytes of large responses there may be.", float64(responses.Most))
	out.Counter(metrics.Shed, metrics.ShedHelp, float64(calls.Refused), "reason", "store_queue")
	out.Counter(metrics.Shed, metrics.ShedHelp, float64(responses.Refused), "reason", "response_budget")
	out.Counter("requests_limited_total", "Requests refused with 429: --rate-limit.", float64(limited))
}

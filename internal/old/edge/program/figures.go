package program

import (
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/old/edge/logging"
	"example.com/petstore/internal/old/edge/metrics"
)

// Describe implements prometheus.Collector.
func (p *Program) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector: the figures of the program and its server.
// It needs Listen.
func (p *Program) Collect(ch chan<- prometheus.Metric) {
	out := metrics.Output(ch)
	labels := []string{"version", p.version, "go_version", runtime.Version()}
	for name, value := range p.Labels {
		labels = slices.Concat(labels, []string{name, value})
	}
	out.Gauge("build_info", "The program.", 1, labels...)
	c := p.server.ConnectionStats()
	const help = "Open connections of clients."
	out.Gauge("connections", help, float64(c.Active), "state", "active")
	out.Gauge("connections", help, float64(c.Idle), "state", "idle")
	out.Gauge("connections_limit", "How many connections there may be: --max-connections.", float64(c.Limit))
	out.Counter("connections_evicted_total", "Connections closed at the limit to make room.", float64(c.Evicted))
	out.Gauge("draining", "1 once the server has been told to end.", metrics.Boolean(p.Draining()))
	out.Counter("log_lines_missing_total", "Lines that were dropped from the log, or could not be written.", float64(logging.Missing(p.Logger)))
	if expiry := p.server.CertificateExpiry(); !expiry.IsZero() {
		out.Gauge("tls_certificate_expiry_timestamp_seconds", "When the certificate in use expires.", float64(expiry.Unix()))
	}
}

package metrics

import "github.com/prometheus/client_golang/prometheus"

// Output takes the metrics of one scrape, where a collector reads figures that are
// kept elsewhere. Labels are names and values by turns.
type Output chan<- prometheus.Metric

// Shed is the metric to which each room adds the requests that it had no room for,
// with the label reason.
const (
	Shed     = "requests_shed_total"
	ShedHelp = "Requests refused with 503 for lack of room."
)

// Gauge adds a figure that goes up and down.
func (o Output) Gauge(name, help string, value float64, labels ...string) {
	o.send(prometheus.GaugeValue, name, help, value, labels)
}

// Counter adds a figure that only goes up.
func (o Output) Counter(name, help string, value float64, labels ...string) {
	o.send(prometheus.CounterValue, name, help, value, labels)
}

func (o Output) send(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	o <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, value, values...)
}

// Boolean returns 1 for true, as metrics have it.
func Boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

package edge

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics holds the request metrics, and registers others.
type metrics struct {
	auto     promauto.Factory
	requests *prometheus.HistogramVec
	inFlight prometheus.Gauge
	shed     *prometheus.CounterVec
}

func newMetrics(s *Server, registry prometheus.Registerer) *metrics {
	auto := promauto.With(registry)
	m := &metrics{
		auto: auto,
		requests: auto.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "http_request_duration_seconds",
			Help:    "Time from the request's header to the end of its response.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 8},
		}, []string{"operation", "status"}),
		shed: auto.NewCounterVec(prometheus.CounterOpts{
			Name: "requests_shed_total", Help: "Requests refused because of a limit.",
		}, []string{"reason"}),
	}
	auto.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "ready", Help: "1 if /readyz says ready, else 0.",
	}, func() float64 {
		if s.ready(context.Background()) != nil {
			return 0
		}
		return 1
	})
	m.inFlight = m.gauge("http_requests_in_flight", "Requests in flight.")
	m.shed.WithLabelValues("in_flight")
	m.shed.WithLabelValues("rate")
	m.shed.WithLabelValues("large")
	return m
}

// gauge registers and returns a gauge.
func (m *metrics) gauge(name, help string) prometheus.Gauge {
	return m.auto.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
}

// observe is the middleware that counts and times requests.
func (m *metrics) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		m.inFlight.Inc()
		err := next(c)
		m.inFlight.Dec()
		operation, _ := c.Get(operationName).(string)
		m.requests.WithLabelValues(cmp.Or(operation, "unknown"), strconv.Itoa(c.Response().Status)).Observe(time.Since(start).Seconds())
		return err
	}
}

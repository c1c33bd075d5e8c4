package edge

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics holds the request metrics.
type metrics struct {
	requests *prometheus.HistogramVec
	inFlight prometheus.Gauge
	shed     *prometheus.CounterVec
}

func newMetrics(s *Server, registry *prometheus.Registry) *metrics {
	namespace := s.service.Name
	m := &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds",
			Help:    "Time from the request's header to the end of its response.",
			Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 8},
		}, []string{"operation", "status"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "http_requests_in_flight", Help: "Requests in progress.",
		}),
		shed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "requests_shed_total", Help: "Requests refused because of a limit.",
		}, []string{"reason"}),
	}
	ready := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "ready", Help: "1 if /readyz says ready, else 0.",
	}, func() float64 {
		if s.ready(context.Background()) != nil {
			return 0
		}
		return 1
	})
	m.shed.WithLabelValues("in_flight")
	m.shed.WithLabelValues("rate")
	registry.MustRegister(m.requests, m.inFlight, m.shed, ready,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
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

package edge

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/petstore/internal/fault"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// observe counts, times and logs requests. It also writes error responses, so that their
// status is known.
func (h *Handler) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		h.metrics.inFlight.Inc()
		err := next(c)
		if err != nil {
			c.Error(err)
		}
		if errors.Is(err, errOverloaded) {
			h.metrics.shed.WithLabelValues("in_flight").Inc()
		}
		if !isProbe(c) || !h.options.LogBlocked() { // a probe must not wait too
			h.logRequest(c, err, time.Since(start))
		}
		h.metrics.inFlight.Dec() // the response has waited for the log
		operation := cmp.Or(callOf(c.Request().Context()).operation, "unknown")
		status := strconv.Itoa(c.Response().Status)
		h.metrics.requests.WithLabelValues(operation, status).Observe(time.Since(start).Seconds())
		return nil
	}
}

// traceparentForm matches a traceparent header (W3C Trace Context, section 3.2), given once.
var traceparentForm = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// logRequest writes one line per request: the path, but no query, body or key.
func (h *Handler) logRequest(c echo.Context, err error, took time.Duration) {
	r, response := c.Request(), c.Response()
	level := levelOf(c, err)
	attrs := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("route", c.Path()),
		slog.String("path", (&url.URL{Path: cmp.Or(r.URL.Path, "/")}).EscapedPath()), // without control characters
		slog.Int("status", response.Status),
		slog.Int64("bytes", response.Size),
		slog.Int64("duration_us", took.Microseconds()),
		slog.String("request_id", response.Header().Get(echo.HeaderXRequestID)),
		slog.String("remote", c.RealIP()),
		slog.String("key", CallerOf(r.Context()).ID),
	}
	if m := traceparentForm.FindStringSubmatch(strings.Join(r.Header["Traceparent"], ",")); m != nil {
		attrs = append(attrs, slog.String("trace_id", m[1]))
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Reason != "" {
		attrs = append(attrs, slog.String("reason", e.Reason))
	}
	if err != nil && level > slog.LevelInfo {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	h.options.Logger.LogAttrs(r.Context(), level, "request", attrs...)
}

func isProbe(c echo.Context) bool {
	operation := callOf(c.Request().Context()).operation
	return operation == "livez" || operation == "readyz"
}

// levelOf returns the log level of a request: error if the service failed, warning
// if it was overloaded or not ready, debug for probes.
func levelOf(c echo.Context, err error) slog.Level {
	switch status := c.Response().Status; {
	case status == http.StatusServiceUnavailable && (isProbe(c) || errors.Is(err, errOverloaded)):
		return slog.LevelWarn
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case isProbe(c):
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// metrics holds the request metrics.
type metrics struct {
	requests *prometheus.HistogramVec
	inFlight prometheus.Gauge
	shed     *prometheus.CounterVec
}

func newMetrics(h *Handler, registry prometheus.Registerer) *metrics {
	auto := promauto.With(registry)
	m := &metrics{
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
		if h.ready(context.Background()) != nil {
			return 0
		}
		return 1
	})
	m.inFlight = auto.NewGauge(prometheus.GaugeOpts{Name: "http_requests_in_flight", Help: "Requests in flight."})
	m.shed.WithLabelValues("in_flight")
	m.shed.WithLabelValues("rate")
	return m
}

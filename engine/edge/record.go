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

	"example.com/petstore/engine/fault"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// record counts, times and logs requests. It writes error responses, so that it knows their status.
func (h *Handler) record(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start, connection := time.Now(), c.Request().Context() // canceled if the client leaves
		c.Response().Before(func() { h.completeHeader(c) })
		h.requests.Inc()
		err := next(c)
		incomplete := err != nil && c.Response().Committed
		switch {
		case incomplete && connection.Err() != nil:
			err = nil // the client has left, which is no error
		case err != nil && !incomplete:
			c.Error(err)
		}
		routed := requestOf(c.Request().Context())
		if errors.Is(err, errOverloaded) {
			h.shed.WithLabelValues("in_flight").Inc()
		}
		if !routed.isProbe() || !h.options.LogBlocked() { // a probe must not wait too
			h.logRequest(c, routed, err, start)
		}
		h.requests.Dec() // net/http sends a short response only after this
		operation, status := cmp.Or(routed.operation, "unknown"), strconv.Itoa(c.Response().Status)
		h.durations.WithLabelValues(operation, status).Observe(time.Since(start).Seconds())
		if incomplete {
			panic(http.ErrAbortHandler) // closes the connection, which tells the client
		}
		return nil
	}
}

// completeHeader adds the headers of a deprecated operation. It closes the connection if the server
// is stopping, or if the body was not read: otherwise net/http reads it before the response ends.
func (h *Handler) completeHeader(c echo.Context) {
	header, routed := c.Response().Header(), requestOf(c.Request().Context())
	for name, values := range routed.deprecation {
		header[name] = append(values, header[name]...) // the generated code may have set Link
	}
	if h.stopping.Load() || c.Request().ContentLength != 0 && routed.body == nil {
		header.Set("Connection", "close")
	}
}

// traceparentForm matches a traceparent header (W3C Trace Context, section 3.2).
var traceparentForm = regexp.MustCompile(`^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// logRequest writes one line per request: the path, but no query, body or key.
func (h *Handler) logRequest(c echo.Context, routed *request, err error, start time.Time) {
	r, response := c.Request(), c.Response()
	path := (&url.URL{Path: cmp.Or(r.URL.Path, "/")}).EscapedPath() // in one spelling, in which the log can find keys
	line := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("route", c.Path()),
		slog.String("path", path), // whole: a part of a key would not be recognised
		slog.Int("status", response.Status),
		slog.Int64("bytes", response.Size),
		slog.Int64("duration_us", time.Since(start).Microseconds()),
		slog.String("request_id", response.Header().Get(echo.HeaderXRequestID)),
		slog.String("remote", c.RealIP()),
		slog.String("key", routed.caller.ID),
	}
	if m := traceparentForm.FindStringSubmatch(strings.Join(r.Header["Traceparent"], ",")); m != nil {
		line = append(line, slog.String("trace_id", m[1]))
	}
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Reason != "" {
		line = append(line, slog.String("reason", e.Reason))
	}
	level := levelOf(response.Status, routed, err)
	if err != nil && level > slog.LevelInfo {
		line = append(line, slog.String("error", err.Error()))
	}
	h.options.Logger.LogAttrs(r.Context(), level, "request", line...)
}

// levelOf returns the log level of a request: error if the service failed, perhaps after its
// response began, warning if it was overloaded or not ready, debug for probes.
func levelOf(status int, routed *request, err error) slog.Level {
	switch {
	case status == http.StatusServiceUnavailable && (routed.isProbe() || errors.Is(err, errOverloaded)):
		return slog.LevelWarn
	case status >= http.StatusInternalServerError || status < http.StatusBadRequest && err != nil:
		return slog.LevelError
	case routed.isProbe():
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

func (r *request) isProbe() bool { return r.operation == "livez" || r.operation == "readyz" }

// addMetrics registers the request metrics.
func (h *Handler) addMetrics() {
	auto := promauto.With(h.options.Metrics)
	auto.NewGaugeFunc(prometheus.GaugeOpts{Name: "ready", Help: "1 if /readyz says ready, else 0."}, func() float64 {
		if h.ready(context.Background()) != nil {
			return 0
		}
		return 1
	})
	h.requests = auto.NewGauge(prometheus.GaugeOpts{Name: "http_requests_in_flight", Help: "Requests in flight."})
	h.durations = auto.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "http_request_duration_seconds",
		Help:    "Time from the request's header to the end of its response.",
		Buckets: []float64{.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 8},
	}, []string{"operation", "status"})
	h.shed = auto.NewCounterVec(prometheus.CounterOpts{
		Name: "requests_shed_total", Help: "Requests rejected because of a limit.",
	}, []string{"reason"})
	h.shed.WithLabelValues("in_flight")
	h.shed.WithLabelValues("rate")
}

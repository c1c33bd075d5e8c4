package edge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Keys of values in an echo.Context.
const (
	operationName = "operation"
	callerID      = "caller"
	bodyRead      = "body read" // set once the whole body has been read
)

// NewLogger returns a logger that writes text or JSON. It redacts secrets and matches
// of keyPattern.
func NewLogger(w io.Writer, text bool, level slog.Level, keyPattern *regexp.Regexp, secrets ...string) *slog.Logger {
	// The longest first: others may be parts of it.
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	w = redactor{w, keyPattern, secrets}
	o := &slog.HandlerOptions{Level: level}
	if text {
		return slog.New(slog.NewTextHandler(w, o))
	}
	return slog.New(slog.NewJSONHandler(w, o))
}

// redactor replaces secrets and matches of pattern in the lines written to w.
type redactor struct {
	w       io.Writer
	pattern *regexp.Regexp
	secrets []string
}

func (r redactor) Write(line []byte) (int, error) {
	redacted := r.pattern.ReplaceAllLiteral(line, []byte("REDACTED"))
	for _, secret := range r.secrets {
		redacted = bytes.ReplaceAll(redacted, []byte(secret), []byte("REDACTED"))
	}
	_, err := r.w.Write(redacted)
	return len(line), err
}

// accessLog writes one line per request: the path, but no query, body or key.
func (s *Server) accessLog() echo.MiddlewareFunc {
	return middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
		HandleError: true, // so that the status is known
		LogMethod:   true, LogURIPath: true, LogRoutePath: true, LogStatus: true, LogLatency: true,
		LogResponseSize: true, LogRemoteIP: true, LogError: true,
		LogValuesFunc: s.logRequest,
	})
}

func (s *Server) logRequest(c echo.Context, v middleware.RequestLoggerValues) error {
	ctx := c.Request().Context()
	level := levelOf(c, v)
	key, _ := c.Get(callerID).(string)
	attrs := []slog.Attr{
		slog.String("method", v.Method),
		slog.String("route", v.RoutePath),
		slog.String("path", v.URIPath),
		slog.Int("status", v.Status),
		slog.Int64("bytes", v.ResponseSize),
		slog.Int64("duration_us", v.Latency.Microseconds()),
		slog.String("request_id", c.Response().Header().Get(echo.HeaderXRequestID)),
		slog.String("remote", v.RemoteIP),
		slog.String("key", key),
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	cause := v.Error
	if p, ok := errors.AsType[*Problem](v.Error); ok {
		if p.Reason != "" {
			attrs = append(attrs, slog.String("reason", p.Reason))
		}
		if p.Cause != nil {
			cause = p.Cause
		}
	}
	if cause != nil && level > slog.LevelInfo {
		attrs = append(attrs, slog.String("error", cause.Error()))
	}
	s.logger.LogAttrs(ctx, level, "request", attrs...)
	return nil
}

// levelOf returns the log level of a request: error if the service failed, warning
// if it was overloaded or not ready, debug for probes.
func levelOf(c echo.Context, v middleware.RequestLoggerValues) slog.Level {
	probe := c.Get(operationName) == "livez" || c.Get(operationName) == "readyz"
	switch {
	case v.Status == http.StatusServiceUnavailable && (probe || errors.Is(v.Error, errOverloaded)):
		return slog.LevelWarn
	case v.Status >= http.StatusInternalServerError:
		return slog.LevelError
	case errors.Is(c.Request().Context().Err(), context.Canceled):
		return slog.LevelInfo // the client left, or readTimeout has passed
	case probe:
		return slog.LevelDebug
	case v.Error != nil && v.Status < http.StatusBadRequest:
		return slog.LevelWarn // the response was not written completely
	}
	return slog.LevelInfo
}

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

// tracing reports whether the environment names a trace collector.
func tracing() bool {
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// traceRequests starts a span for each request, which otelhttp names after the
// method and the Pattern.
func traceRequests() echo.MiddlewareFunc {
	traced := echo.WrapMiddleware(otelhttp.NewMiddleware(""))
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		next = traced(next)
		return func(c echo.Context) error {
			c.Request().Pattern = c.Path()
			return next(c)
		}
	}
}

// startTracing exports spans, as OpenTelemetry's variables say, until stop is called.
func (s *Server) startTracing(ctx context.Context) (stop func(context.Context) error, err error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot export traces: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { s.logger.Warn("traces", "error", err) }))
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return provider.Shutdown, nil
}

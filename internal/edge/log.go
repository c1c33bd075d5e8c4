package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
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
		if bytes.Contains(redacted, []byte(secret)) {
			redacted = bytes.ReplaceAll(redacted, []byte(secret), []byte("REDACTED"))
		}
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
	level := s.levelOf(c, v)
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
func (s *Server) levelOf(c echo.Context, v middleware.RequestLoggerValues) slog.Level {
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

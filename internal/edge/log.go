package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// statusClientLeft stands in the log for the status of a request whose client
// went away before the response, as nginx has it. It is never sent.
const statusClientLeft = 499

// log writes the request's line. It names the path but never the query string
// or a header, where keys are; the logger takes keys out of the rest. The record
// is made by hand: slog.Logger would look up the line of the source it is called
// from, every time the same.
func (e *edge) log(x *exchange, err error) {
	r, now := x.Request(), time.Now()
	level, status := e.severity(x, err)
	e.observe(x, status, now.Sub(x.start))
	ctx := context.Background() // the line is written whether the client waits or not
	if !e.Logger.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(now, level, "request", 0)
	record.AddAttrs(
		slog.String("method", r.Method),
		slog.String("route", x.Path()),
		slog.String("path", r.URL.Path),
		slog.Int("status", status),
		slog.Int64("bytes", x.Response().Size),
		slog.Int64("duration_us", now.Sub(x.start).Microseconds()),
		slog.String("request_id", x.id[0]),
		slog.String("remote", proxies(e.TrustedProxies).remote(r)),
		slog.String("key", x.ctx.caller.ID),
	)
	if trace, span := traceOf(r.Header); trace != "" {
		record.AddAttrs(slog.String("trace_id", trace), slog.String("span_id", span))
	}
	if p, ok := errors.AsType[*problem](err); ok && p.reason != "" {
		record.AddAttrs(slog.String("reason", p.reason))
	}
	if level > slog.LevelInfo && err != nil {
		record.AddAttrs(slog.String("error", fullError(err)))
	}
	_ = e.Logger.Handler().Handle(ctx, record) // this error has no other place than the log
}

// severity returns the level of the request's line, and the status it names.
func (e *edge) severity(x *exchange, err error) (slog.Level, int) {
	status := x.Response().Status
	_, panicked := errors.AsType[*panicError](err)
	switch {
	case panicked:
		return slog.LevelError, status
	case err != nil && x.clientLeft() && (status < http.StatusBadRequest || status == http.StatusServiceUnavailable || errors.Is(err, context.Canceled)):
		return slog.LevelInfo, statusClientLeft
	case isProbe(x.Path()) && err == nil:
		return slog.LevelDebug, status // it comes every few seconds
	case isProbe(x.Path()):
		return slog.LevelWarn, status
	case isCrowded(err):
		return slog.LevelWarn, status // load is no fault
	case status >= http.StatusInternalServerError:
		return slog.LevelError, status
	case err != nil && status < http.StatusBadRequest:
		return slog.LevelWarn, status // the response broke off
	}
	return slog.LevelInfo, status
}

// fullError returns everything known about an error, for the log alone.
func fullError(err error) string {
	if p, ok := errors.AsType[*problem](err); ok && p.cause != nil {
		return p.cause.Error()
	}
	return err.Error()
}

// clientLeft reports whether the connection has ended before its response.
func (x *exchange) clientLeft() bool {
	ctx := x.ctx.Context // which the request has given up for its own
	if ctx == nil {
		ctx = x.Request().Context()
	}
	return errors.Is(ctx.Err(), context.Canceled)
}

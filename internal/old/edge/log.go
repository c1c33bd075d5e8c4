package edge

import (
	"context"
	"errors"
	"log/slog"
)

// accessLog has one line for every exchange.
type accessLog struct {
	logger  *slog.Logger
	proxies proxies
}

// write writes the line of an exchange. It names the path but never the query string
// or a header, where keys are; the logger takes keys out of the rest. The record
// is made by hand: slog.Logger would look up the line of the source it is called
// from, every time the same.
func (l *accessLog) write(x *exchange, o outcome) {
	ctx := context.Background() // the line is written whether the client waits or not
	if !l.logger.Enabled(ctx, o.level) {
		return
	}
	r := x.Request()
	record := slog.NewRecord(o.end, o.level, "request", 0)
	record.AddAttrs(
		slog.String("method", r.Method),
		slog.String("route", x.Path()),
		slog.String("path", r.URL.Path),
		slog.Int("status", o.status),
		slog.Int64("bytes", x.Response().Size),
		slog.Int64("duration_us", o.end.Sub(x.start).Microseconds()),
		slog.String("request_id", x.id[0]),
		slog.String("remote", l.proxies.remote(r)),
		slog.String("key", x.ctx.caller.ID),
	)
	if trace, span := traceOf(r.Header); trace != "" {
		record.AddAttrs(slog.String("trace_id", trace), slog.String("span_id", span))
	}
	if p, ok := errors.AsType[*problem](o.err); ok && p.reason != "" {
		record.AddAttrs(slog.String("reason", p.reason))
	}
	if o.level > slog.LevelInfo && o.err != nil {
		record.AddAttrs(slog.String("error", fullError(o.err)))
	}
	_ = l.logger.Handler().Handle(ctx, record) // this error has no other place than the log
}

// fullError returns everything known about an error, for the log alone.
func fullError(err error) string {
	if p, ok := errors.AsType[*problem](err); ok && p.cause != nil {
		return p.cause.Error()
	}
	return err.Error()
}

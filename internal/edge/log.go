package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// log writes the request's line. It names the path but never the query string
// or a header, where keys are. The record is made by hand: slog.Logger would
// look up the line of the source it is called from, every time the same.
func (e *edge) log(x *exchange, err error) {
	r, status, now := x.Request(), x.Response().Status, time.Now()
	level := slog.LevelInfo
	_, panicked := errors.AsType[*panicError](err)
	switch {
	case status >= http.StatusInternalServerError, panicked:
		level = slog.LevelError
	case err != nil && status < http.StatusBadRequest:
		level = slog.LevelWarn // the response broke off
	}
	ctx := context.Background() // the line is written whether the client waits or not
	if !e.Logger.Enabled(ctx, level) {
		return
	}
	record := slog.NewRecord(now, level, "request", 0)
	record.AddAttrs(
		slog.String("method", r.Method),
		slog.String("route", x.Path()),
		slog.String("path", redact(r.URL.Path)),
		slog.Int("status", status),
		slog.Int64("bytes", x.Response().Size),
		slog.Int64("duration_us", now.Sub(x.start).Microseconds()),
		slog.String("request_id", redact(x.id[0])),
		slog.String("remote", r.RemoteAddr),
		slog.String("key", x.ctx.keyID),
	)
	if level > slog.LevelInfo && err != nil {
		record.AddAttrs(slog.String("error", fullError(err)))
	}
	_ = e.Logger.Handler().Handle(ctx, record) // who could be told that the log cannot be written?
}

// keyPattern finds what looks like an API key.
var keyPattern = regexp.MustCompile(`psk_\w+`)

// redact takes keys out of what a client may have put them in by mistake.
func redact(s string) string {
	if !strings.Contains(s, "psk_") {
		return s
	}
	return keyPattern.ReplaceAllString(s, "psk_REDACTED")
}

// fullError returns everything known about an error, for the log alone.
func fullError(err error) string {
	if p, ok := errors.AsType[*problem](err); ok && p.cause != nil {
		return p.cause.Error()
	}
	return err.Error()
}

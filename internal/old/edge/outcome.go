package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// outcome is how an exchange ended, for the log and the metrics.
type outcome struct {
	err    error
	end    time.Time
	status int
	level  slog.Level
}

func outcomeOf(x *exchange, err error) outcome {
	o := outcome{err: err, end: time.Now()}
	o.level, o.status = severity(x, err)
	return o
}

// statusClientLeft stands in the log for the status of a request whose client
// went away before the response, as nginx has it. It is never sent.
const statusClientLeft = 499

// severity returns the level of the exchange's line in the log, and the status it names.
func severity(x *exchange, err error) (slog.Level, int) {
	status := x.Response().Status
	_, panicked := errors.AsType[*panicError](err)
	switch {
	case panicked:
		return slog.LevelError, status
	case err != nil && clientLeft(x) && (status < http.StatusBadRequest || status == http.StatusServiceUnavailable || errors.Is(err, context.Canceled)):
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

// clientLeft reports whether the connection has ended before its response.
func clientLeft(x *exchange) bool {
	ctx := x.ctx.Context // which the request has given up for its own
	if ctx == nil {
		ctx = x.Request().Context()
	}
	return errors.Is(ctx.Err(), context.Canceled)
}

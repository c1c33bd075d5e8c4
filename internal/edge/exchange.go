package edge

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// exchange is one request and its answer: the outermost middleware. Everything
// that goes wrong inside it becomes an answer here, and every request one line
// of the log.
func (e *edge) exchange(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := time.Now()
		id := requestID(c.Request())
		setCommonHeaders(c, id)

		err := guarded(next, c)
		if err != nil {
			e.answer(err, c)
		}
		e.log(c, id, time.Since(start), err)
		return nil
	}
}

// The headers of every answer, shared so that setting them costs nothing.
var (
	nosniff = []string{"nosniff"}
	noStore = []string{"no-store"}
	closing = []string{"close"}
)

func setCommonHeaders(c echo.Context, id string) {
	h := c.Response().Header()
	h["X-Request-Id"] = []string{id}
	h["X-Content-Type-Options"] = nosniff
	if path := c.Request().URL.Path; path == BasePath || strings.HasPrefix(path, BasePath+"/") {
		h["Cache-Control"] = noStore
	}
	// A body that nobody reads would have to arrive whole before the
	// connection could serve another request: close it instead. readBody
	// takes this back once it has read the body.
	if c.Request().ContentLength != 0 {
		h["Connection"] = closing
	}
}

// guarded calls next for paths that are one of the routes, and turns a panic
// into an error. Echo lets the last parameter of a route run over slashes, so
// that /v1/pets/1/2 would be a pet: the route and the path must have the same
// number of segments.
func guarded(next echo.HandlerFunc, c echo.Context) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	if strings.Count(c.Path(), "/") != strings.Count(echo.GetPath(c.Request()), "/") {
		c.SetPath("")
		return echo.ErrNotFound
	}
	return next(c)
}

type panicError struct {
	value any
	stack []byte
}

func (p *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }

// requestID returns the client's X-Request-Id if it is one sane value, and a
// new one else.
func requestID(r *http.Request) string {
	if ids := r.Header["X-Request-Id"]; len(ids) == 1 && isRequestID(ids[0]) {
		return ids[0]
	}
	return rand.Text()
}

func isRequestID(s string) bool {
	if len(s) < 1 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

// log writes the request's line. It names the path but never the query string
// or a header, where keys are.
func (e *edge) log(c echo.Context, id string, took time.Duration, err error) {
	r, status := c.Request(), c.Response().Status
	attrs := [...]slog.Attr{
		slog.String("method", r.Method),
		slog.String("route", c.Path()),
		slog.String("path", redact(r.URL.Path)),
		slog.Int("status", status),
		slog.Int64("bytes", c.Response().Size),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
		slog.String("request_id", redact(id)),
		slog.String("remote", r.RemoteAddr),
		slog.String("key", keyIDFrom(r.Context())),
		{}, // the error, which slog leaves out where it is zero
	}
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
		if err != nil {
			attrs[len(attrs)-1] = slog.String("error", fullError(err))
		}
	}
	e.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs[:]...)
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

package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"sync/atomic"
	"time"
)

// LogWriter writes the lines of a log without secrets, and knows whether it is read. Calls
// to Write must not overlap; those of a slog.Handler do not.
type LogWriter struct {
	w       io.Writer
	pattern *regexp.Regexp
	secrets []string
	began   atomic.Pointer[time.Time] // of the Write in progress, if any
}

// NewLogWriter returns a LogWriter that hides secrets and what matches pattern.
func NewLogWriter(w io.Writer, pattern *regexp.Regexp, secrets ...string) *LogWriter {
	// The longest first: others may be parts of it.
	secrets = slices.SortedFunc(slices.Values(secrets), func(a, b string) int { return len(b) - len(a) })
	return &LogWriter{w: w, pattern: pattern, secrets: secrets}
}

func (w *LogWriter) Write(line []byte) (int, error) {
	now := time.Now()
	w.began.Store(&now)
	defer w.began.Store(nil)
	redacted := w.pattern.ReplaceAllLiteral(line, []byte("REDACTED"))
	for _, secret := range w.secrets {
		redacted = bytes.ReplaceAll(redacted, []byte(secret), []byte("REDACTED"))
	}
	_, err := w.w.Write(redacted)
	return len(line), err
}

// Blocked reports whether a line has not been written for 5 s.
func (w *LogWriter) Blocked() bool {
	began := w.began.Load()
	return began != nil && time.Since(*began) > 5*time.Second
}

// errorLog is a writer for an http.Server's ErrorLog. Clients that leave during the
// TLS handshake, as probes of the port do, or speak no TLS are not worth a warning.
type errorLog struct{ logger *slog.Logger }

// noTLS matches their errors. net/http knows plain HTTP by five methods only.
var noTLS = regexp.MustCompile(`TLS handshake error .*(EOF|connection reset by peer|broken pipe|` +
	`client sent an HTTP request to an HTTPS server|first record does not look like a TLS handshake)$`)

func (l errorLog) Write(line []byte) (int, error) {
	text := bytes.TrimSpace(line)
	level := slog.LevelWarn
	if noTLS.Match(text) {
		level = slog.LevelDebug
	}
	l.logger.Log(context.Background(), level, string(text))
	return len(line), nil
}

package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"regexp"
	"sync/atomic"
	"time"
)

// LogWriter writes to a log, and knows whether that is read. Calls to Write must not
// overlap; those of a slog.Handler do not.
type LogWriter struct {
	io.Writer
	began atomic.Pointer[time.Time] // of the Write in progress, if any
}

func (w *LogWriter) Write(line []byte) (int, error) {
	now := time.Now()
	w.began.Store(&now)
	defer w.began.Store(nil)
	return w.Writer.Write(line)
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

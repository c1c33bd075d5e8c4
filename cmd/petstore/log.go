package main

import (
	"io"
	"log/slog"
	"sync"
	"time"
)

// newLogger returns the program's logger: text for a person, at once; JSON for
// a machine, gathered for a moment. flush writes what is gathered.
func newLogger(env environment) (logger *slog.Logger, flush func()) {
	if env.interactive {
		return slog.New(slog.NewTextHandler(env.stderr, nil)), func() {}
	}
	g := &gatheringWriter{to: env.stderr}
	return slog.New(newLineHandler(g)), g.flush
}

// How much, and for how long, a gatheringWriter holds back.
const (
	gatherBytes = 32 << 10
	gatherTime  = 100 * time.Millisecond
)

// gatheringWriter spares the log a system call a line, which is a tenth of what
// a request costs. It holds lines back for at most gatherTime. Errors of the
// writer below are dropped: there is no other place to report them.
type gatheringWriter struct {
	to  io.Writer
	mu  sync.Mutex
	buf []byte
}

func (g *gatheringWriter) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.buf) == 0 {
		time.AfterFunc(gatherTime, g.flush)
	}
	if g.buf = append(g.buf, p...); len(g.buf) >= gatherBytes {
		g.write()
	}
	return len(p), nil
}

func (g *gatheringWriter) flush() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.write()
}

func (g *gatheringWriter) write() {
	if len(g.buf) > 0 {
		_, _ = g.to.Write(g.buf)
		g.buf = g.buf[:0]
	}
}

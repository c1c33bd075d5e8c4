package main

import (
	"fmt"
	"io"
	"time"
)

// How often progress is shown: at a terminal by writing over the line, in a file by
// another line.
const (
	overwriteEvery = 200 * time.Millisecond
	lineEvery      = 5 * time.Second
)

// progress shows how far a long run over rows is, in a line of text.
type progress struct {
	to       io.Writer
	terminal bool           // whether to is one
	what     string         // the work on the rows: "checking"
	part     func() float64 // the part that is done, 0 to 1; nil where that is unknown
	began    time.Time
	shown    time.Time
	rows     int
}

func newProgress(env environment, what string, part func() float64) *progress {
	now := time.Now()
	return &progress{to: env.stderr, terminal: env.stderrIsTerminal, what: what, part: part, began: now, shown: now}
}

// step counts a row.
func (p *progress) step() {
	p.rows++
	p.tick()
}

// tick shows the progress where it is time to.
func (p *progress) tick() {
	now, every := time.Now(), lineEvery
	if p.terminal {
		every = overwriteEvery
	}
	if now.Sub(p.shown) < every {
		return
	}
	p.shown = now
	if line := p.line(now.Sub(p.began)); p.terminal {
		fmt.Fprintf(p.to, "\r%s\x1b[K", line)
	} else {
		fmt.Fprintln(p.to, line)
	}
}

// line returns at most 60 characters, which are a line of most terminals.
func (p *progress) line(took time.Duration) string {
	text := fmt.Sprintf("%v", took.Round(time.Second))
	if p.rows > 0 {
		text = fmt.Sprintf("%s, %s/s", counted(p.rows, "row"), counted(perSecond(p.rows, took), "row"))
	}
	done := 0.0
	if p.part != nil {
		done = min(p.part(), 1)
	}
	if done == 0 {
		return p.what + ": " + text
	}
	left := time.Duration(float64(took) * (1 - done) / done)
	return fmt.Sprintf("%s: %.0f %%, %s, %v left", p.what, 100*done, text, left.Round(time.Second))
}

// end clears the line and returns how long it all took.
func (p *progress) end() time.Duration {
	if p.terminal && p.shown != p.began {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
	return time.Since(p.began)
}

func perSecond(rows int, took time.Duration) int {
	return int(float64(rows) / max(took.Seconds(), 1e-3))
}

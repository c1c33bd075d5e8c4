package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// How often progress is shown: at a terminal by writing over the line, in a file
// by another line.
const (
	barEvery  = 200 * time.Millisecond
	lineEvery = 5 * time.Second
)

// A bar takes the columns that the text leaves, within these bounds. Below the
// lesser there is none.
const (
	minBar = 8
	maxBar = 24
)

// progress shows how far a long run over rows is. The libraries for it write bars
// into logs too, or nothing at all, and bring five modules along for one line of
// text.
type progress struct {
	to    io.Writer
	bar   bool           // whether to is a terminal
	width func() int     // of the terminal
	what  string         // the work on the rows: "checking"
	part  func() float64 // the part that is done, 0 to 1; nil where that is unknown
	now   func() time.Time
	began time.Time
	shown time.Time
	rows  int
}

func newProgress(env environment, what string, part func() float64) *progress {
	p := &progress{to: env.stderr, bar: env.stderrIsTerminal, width: func() int { return env.width(env.stderr) }, what: what, part: part, now: time.Now}
	p.began = p.now()
	p.shown = p.began
	return p
}

// step counts a row.
func (p *progress) step() {
	p.rows++
	p.tick()
}

// tick shows the progress where it is time to.
func (p *progress) tick() {
	now, every := p.now(), lineEvery
	if p.bar {
		every = barEvery
	}
	if now.Sub(p.shown) >= every {
		p.shown = now
		p.show(now.Sub(p.began))
	}
}

func (p *progress) show(took time.Duration) {
	text := fmt.Sprintf("%v", took.Round(time.Second))
	if p.rows > 0 {
		text = fmt.Sprintf("%s, %s/s", counted(p.rows, "row"), counted(perSecond(p.rows, took), "row"))
	}
	done := 0.0
	if p.part != nil {
		done = min(p.part(), 1)
	}
	if done > 0 {
		left := time.Duration(float64(took) * (1 - done) / done)
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	switch {
	case !p.bar && done > 0:
		fmt.Fprintf(p.to, "%s: %.0f %%, %s\n", p.what, 100*done, text)
	case !p.bar:
		fmt.Fprintf(p.to, "%s: %s\n", p.what, text)
	default:
		fmt.Fprintf(p.to, "\r%s\x1b[K", p.line(text, done))
	}
}

// line returns what fits into a line of the terminal.
func (p *progress) line(text string, done float64) string {
	columns := p.width()
	if columns == 0 {
		columns = 80
	}
	columns-- // in the last one, some terminals begin the next line
	what := fmt.Sprintf("%-8s ", p.what)
	bar := min(maxBar, columns-len(what)-len("[] ")-len(text))
	if p.part != nil && bar >= minBar {
		full := int(float64(bar) * done)
		what += "[" + strings.Repeat("#", full) + strings.Repeat(".", bar-full) + "] "
	}
	return cut(what+text, columns)
}

// end clears the line and returns how long it all took.
func (p *progress) end() time.Duration {
	if p.bar && p.shown != p.began {
		fmt.Fprint(p.to, "\r\x1b[K")
	}
	return p.now().Sub(p.began)
}

func perSecond(rows int, took time.Duration) int {
	return int(float64(rows) / max(took.Seconds(), 1e-3))
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// printable escapes what would move the cursor, colour the text or change its
// direction at a terminal.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// counted returns n and its noun: 1 pet, 2 pets.
func counted[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func printJSON(out io.Writer, result any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(result)
}

// progress shows at a terminal how far long work is: rows, or a part of a file.
type progress struct {
	env          environment
	what         string
	rows         int
	began, shown time.Time
}

func newProgress(env environment, what string) *progress {
	return &progress{env: env, what: what, began: time.Now()}
}

// step counts a row.
func (p *progress) step() {
	p.rows++
	p.show(func() string { return counted(p.rows, "row") + ", " + p.rate() })
}

// reach is called with how much of the work is done, and of how much.
func (p *progress) reach(done, total int64) {
	p.show(func() string { return fmt.Sprintf("%d %%", 100*done/max(total, 1)) })
}

func (p *progress) show(state func() string) {
	now := time.Now()
	if !p.env.terminal || now.Sub(p.began) < time.Second || now.Sub(p.shown) < time.Second/5 {
		return
	}
	p.shown = now
	fmt.Fprintf(p.env.stderr, "\r%s: %s, %v\x1b[K", p.what, state(), now.Sub(p.began).Round(time.Second))
}

func (p *progress) rate() string {
	return counted(int(float64(p.rows)/max(time.Since(p.began).Seconds(), 1e-3)), "row") + "/s"
}

// end clears the line.
func (p *progress) end() {
	if !p.shown.IsZero() {
		fmt.Fprint(p.env.stderr, "\r\x1b[K")
	}
}

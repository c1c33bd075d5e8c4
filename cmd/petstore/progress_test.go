package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// count steps through 1,000 rows that take so long each, on a fake clock.
func count(t *testing.T, env environment, what string, each time.Duration, known bool) string {
	t.Helper()
	var out bytes.Buffer
	env.stderr = &out
	synctest.Test(t, func(*testing.T) {
		p := newProgress(env, what, nil)
		if known {
			p.part = func() float64 { return float64(p.rows) / 1000 }
		}
		for range 1000 {
			time.Sleep(each)
			p.step()
		}
		p.end()
	})
	return out.String()
}

func TestALogHasALineOfProgressNowAndThen(t *testing.T) {
	got := count(t, environment{}, "checking", 15*time.Millisecond, true)
	want := "checking: 33 %, 334 rows, 66 rows/s, 10s left\n" +
		"checking: 67 %, 668 rows, 66 rows/s, 5s left\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := count(t, environment{}, "writing", 6*time.Millisecond, false), "writing: 834 rows, 166 rows/s\n"; got != want {
		t.Errorf("of an unknown whole: got %q, want %q", got, want)
	}
	if got := count(t, environment{}, "checking", time.Millisecond, true); got != "" {
		t.Errorf("of a short run: got %q, want nothing", got)
	}
}

func TestAPersonSeesALineThatIsGoneInTheEnd(t *testing.T) {
	got := count(t, environment{stderrIsTerminal: true}, "storing", time.Millisecond, true)
	lines := strings.Split(got, "\r")
	if want := "storing: 40 %, 400 rows, 1000 rows/s, 1s left\x1b[K"; !slices.Contains(lines, want) || len(lines) != 7 {
		t.Errorf("got %q, want five lines such as %q", lines, want)
	}
	if strings.Contains(got, "\n") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("got %q, want one line, empty in the end", got)
	}
}

func TestALineOfProgressFitsATerminal(t *testing.T) {
	p := newProgress(environment{}, "checking", func() float64 { return 0.995 })
	p.rows = 123_456_789
	if got := p.line(4 * time.Hour); len(got) > 60 {
		t.Errorf("got %d characters, want 60 at most: %s", len(got), got)
	}
}

package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

var pattern = regexp.MustCompile(`key_\w+`)

func TestFilter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Zoë 🐕\t\n": "Zoë 🐕\t\n", "\x1b[31mred": "\ufffd[31mred", "a\u202eb": "a\ufffdb", "'\r": "'\ufffd",
		"\x7f\u009b31m": "\ufffd\ufffd31m", "\U000e0041": "\ufffd", "\x9b31m": "\ufffd31m",
		"key_abc, first-and-more, key_a-b, first": "REDACTED, REDACTED, REDACTED, REDACTED",
	} {
		var out bytes.Buffer
		p := &Filter{Writer: &out}
		p.Hide(pattern, []string{"first", "key_a-b", "first-and-more"})
		if n, err := fmt.Fprint(p, text); n != len(text) || err != nil || out.String() != want {
			t.Errorf("%q: got %d, error %v, %q, want %q", text, n, err, &out, want)
		}
	}
}

// TestLongLines checks that no line is longer than 2 KiB, no part of a key stays where it is cut, and short values do.
func TestLongLines(t *testing.T) {
	t.Parallel()
	const fixed, key = "fixed-secret-abcdefgh", "key_abcdefgh_0123456789"
	for _, odd := range []string{
		"x", "\x1b", `"`, `\`, "\n", "\xff", "\U000e0041", "\u2028", "\u202e", "é", "🐕", "<", fixed, "." + key + ".",
	} {
		for _, asJSON := range []bool{true, false} {
			var out bytes.Buffer
			p := &Filter{Writer: &out, Limit: 2 << 10}
			p.Hide(pattern, []string{fixed})
			long := strings.Repeat(odd, 10_000/len(odd))
			log := NewLogger(p, slog.LevelInfo, asJSON)
			log.Error("request", "method", long, "path", long, "status", 500, "request_id", "r1", "error", errors.New(long))
			log.Warn(long, "error", errors.New("short"))
			got := out.String()
			for line := range strings.Lines(got) {
				if len(line) > 2<<10 || !strings.Contains(line, "(cut)") || asJSON && !json.Valid([]byte(line)) {
					t.Errorf("%q: got %d bytes: %s", odd, len(line), line)
				}
			}
			if asJSON && !(strings.Contains(got, `"request_id":"r1","status":500`) && strings.Contains(got, "short")) {
				t.Errorf("%q: got no short values: %s", odd, got)
			}
			if strings.Contains(got, "key_") || strings.Contains(got, "fixed-") {
				t.Errorf("%q: got a part of a key: %s", odd, got)
			}
		}
	}
}

// stuck is a writer that hangs or fails for a while.
type stuck struct {
	hang, fail time.Duration // since the first Write
	begin      time.Time
	text       string
}

func (s *stuck) Write(text []byte) (int, error) {
	if s.begin.IsZero() {
		s.begin = time.Now()
	}
	if took := time.Since(s.begin); took < s.hang {
		time.Sleep(s.hang - took)
	}
	if time.Since(s.begin) < s.fail {
		return 0, errors.New("no space left on device")
	}
	s.text += string(text)
	return len(text), nil
}

// TestBlocked checks a log that nobody reads, and one on a full disk: it recovers without another line, and the
// line is written then.
func TestBlocked(t *testing.T) {
	for name, w := range map[string]*stuck{"hangs": {hang: 10 * time.Second}, "fails": {fail: 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			log := &Filter{Writer: w}
			go fmt.Fprintln(log, "a line")
			time.Sleep(time.Millisecond)
			for second := range 12 {
				wantEqual(t, fmt.Sprintf("%s, blocked after %d s", name, second), log.Blocked(), second >= 5 && second < 10)
				time.Sleep(time.Second)
			}
			wantEqual(t, name, w.text, "a line\n")
		})
	}
}

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

	"github.com/stretchr/testify/assert"
)

var pattern = regexp.MustCompile(`key_\w+`)

func TestFilter(t *testing.T) {
	for text, want := range map[string]string{
		"Zoë 🐕\t\n": "Zoë 🐕\t\n", "\x1b[31mred": "\ufffd[31mred", "a\u202eb": "a\ufffdb", "'\r": "'\ufffd",
		"\x7f\u009b31m": "\ufffd\ufffd31m", "\U000e0041": "\ufffd", "\x9b31m": "\ufffd31m",
		"key_abc, first-and-more, key_a-b, first": "REDACTED, REDACTED, REDACTED, REDACTED",
	} {
		var out bytes.Buffer
		p := &Filter{Writer: &out}
		p.Hide(pattern, []string{"first", "key_a-b", "first-and-more"})
		assert.Equal(t, len(text), must(fmt.Fprint(p, text)), "%q", text)
		assert.Equal(t, want, out.String(), "%q", text)
	}
}

// TestLongLines checks that no line is longer than 2 KiB, no part of a key stays where it is cut, and short values do.
func TestLongLines(t *testing.T) {
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
				ok := len(line) <= 2<<10 && strings.Contains(line, "(cut)") && (!asJSON || json.Valid([]byte(line)))
				assert.True(t, ok, "%q: got %d bytes: %.500s", odd, len(line), line)
			}
			ok := !asJSON || strings.Contains(got, `"request_id":"r1","status":500`) && strings.Contains(got, "short")
			assert.True(t, ok, "%q: got no short values: %s", odd, got)
			assert.NotRegexp(t, "key_|fixed-", got, "%q: a part of a key", odd)
		}
	}
}

// stuck is a writer that hangs for a while, or fails a few times.
type stuck struct {
	hang     time.Duration
	failures int
	text     string
}

func (s *stuck) Write(text []byte) (int, error) {
	time.Sleep(s.hang)
	if s.failures--; s.failures >= 0 {
		return 0, errors.New("no space left on device")
	}
	s.text += string(text)
	return len(text), nil
}

// TestBlocked checks a log that nobody reads, and one on a full disk: it recovers without another line, and the
// line is written then. In 10 s, that one fails, and ten retries of Blocked.
func TestBlocked(t *testing.T) {
	for name, w := range map[string]*stuck{"hangs": {hang: 10 * time.Second}, "fails": {failures: 11}} {
		synctest.Test(t, func(t *testing.T) {
			log := &Filter{Writer: w}
			go fmt.Fprintln(log, "a line")
			time.Sleep(time.Millisecond)
			for second := range 12 {
				assert.Equal(t, second >= 5 && second < 10, log.Blocked(), "%s, blocked after %d s", name, second)
				time.Sleep(time.Second)
			}
			assert.Equal(t, "a line\n", w.text, name)
		})
	}
}

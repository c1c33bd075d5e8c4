package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/petstore/internal/keys"
)

func TestPrinter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Zoë 🐕\t\n": "Zoë 🐕\t\n", "\x1b[31mred": "\ufffd[31mred", "a\u202eb": "a\ufffdb", "'\r": "'\ufffd",
		"\x7f\u009b31m": "\ufffd\ufffd31m", "\U000e0041": "\ufffd", "\x9b31m": "\ufffd31m",
		"psk_abc, first-and-more, first": "REDACTED, REDACTED, REDACTED",
	} {
		var out bytes.Buffer
		p := &printer{Writer: &out}
		p.hide(keys.Pattern, []string{"first", "first-and-more"})
		if n, err := fmt.Fprint(p, text); n != len(text) || err != nil || out.String() != want {
			t.Errorf("%q: got %d, error %v, %q, want %q", text, n, err, &out, want)
		}
	}
}

// TestLongLines checks that what a client or an error says makes no line longer than 2 KiB,
// and that no part of a key is left where it is cut.
func TestLongLines(t *testing.T) {
	t.Parallel()
	const fixed, key = "fixed-secret-abcdefgh", "psk_abcdefgh_0123456789"
	for _, odd := range []string{
		"x", "\x1b", `"`, `\`, "\n", "\xff", "\U000e0041", "\u2028", "\u202e", "é", "🐕", "<", fixed, "." + key + ".",
	} {
		for _, c := range []struct {
			asJSON bool
			size   int // 180 is long only if it is escaped
		}{{true, 180}, {false, 180}, {true, 10_000}, {false, 10_000}} {
			var out bytes.Buffer
			p := &printer{Writer: &out}
			p.hide(keys.Pattern, []string{fixed})
			long := strings.Repeat(odd, c.size/len(odd))
			// as edge logs a request, with the longest of what is limited elsewhere
			newLogger(p, slog.LevelInfo, c.asJSON).Error("request", "method", long, "route", "/v1/pets/:petId", "path", long,
				"status", 500, "bytes", int64(1<<40), "duration_us", int64(1<<40), "request_id", strings.Repeat("r", 64),
				"remote", strings.Repeat("f", 45), "key", long, "trace_id", strings.Repeat("0", 32), "reason", "revoked",
				"error", fmt.Errorf("panic: %s", long))
			newLogger(p, slog.LevelInfo, c.asJSON).Warn(long, "error", errors.New("short"))
			for line := range strings.Lines(out.String()) {
				if len(line) > 2<<10 || c.size > 2<<10 && !strings.Contains(line, "(cut)") || c.asJSON && !json.Valid([]byte(line)) {
					t.Errorf("%q: got %d bytes: %s", odd, len(line), line)
				}
			}
			if got := out.String(); strings.Contains(got, "psk_") || strings.Contains(got, "fixed-") {
				t.Errorf("%q: got a part of a key: %s", odd, got)
			}
		}
	}
}

// stuck is a writer that hangs or fails for a while.
type stuck struct {
	hang, fail time.Duration // from begin
	begin      time.Time
	text       string
}

func (s *stuck) Write(text []byte) (int, error) {
	if took := time.Since(s.begin); took < s.hang {
		time.Sleep(s.hang - took)
	}
	if time.Since(s.begin) < s.fail {
		return 0, errors.New("no space left on device")
	}
	s.text += string(text)
	return len(text), nil
}

// TestBlocked checks that a log that cannot be written is noticed, whether writes hang, as
// nobody reads it, or fail, as the disk is full; that it recovers without another line, and
// that the line is written then.
func TestBlocked(t *testing.T) {
	for name, w := range map[string]*stuck{"hangs": {hang: 10 * time.Second}, "fails": {fail: 10 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			w.begin = time.Now()
			log := &printer{Writer: w}
			go fmt.Fprintln(log, "a line")
			for second := range 12 {
				time.Sleep(time.Until(w.begin.Add(time.Duration(second)*time.Second + time.Millisecond)))
				if got, want := log.blocked(), second >= 5 && second < 10; got != want {
					t.Errorf("%s, after %d s: got blocked: %v, want %v", name, second, got, want)
				}
			}
			if w.text != "a line\n" {
				t.Errorf("%s: got %q, want the line", name, w.text)
			}
		})
	}
}

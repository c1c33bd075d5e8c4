package logging_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/petstore/internal/edge/logging"
)

// stuck is a reader of the log that reads nothing until it is told to.
type stuck struct {
	began chan struct{} // gets a value when a write begins
	read  chan struct{} // closed to let all be read

	mu  sync.Mutex
	buf bytes.Buffer
}

func newStuck() *stuck { return &stuck{began: make(chan struct{}, 100), read: make(chan struct{})} }

func (s *stuck) Write(p []byte) (int, error) {
	s.began <- struct{}{}
	<-s.read
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

// parsed returns the lines of JSON.
func parsed(t *testing.T, text string) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, fields)
	}
	return lines
}

func TestNothingIsLostAtTheEnd(t *testing.T) {
	var out bytes.Buffer
	logger, end := logging.New(&out, logging.Options{})
	for i := range 1000 {
		logger.Info("line", "n", i)
	}
	func() {
		defer func() { _ = recover() }()
		defer end()
		panic("of the program")
	}()
	lines := parsed(t, out.String())
	if len(lines) != 1000 {
		t.Fatalf("got %d lines, want 1000", len(lines))
	}
	for i, line := range lines {
		if line["n"] != float64(i) {
			t.Fatalf("line %d: got %v, want the lines in their order", i, line)
		}
	}
	end() // does nothing more
}

func TestALogThatNobodyReadsKeepsErrorsAndSaysHowManyLinesAreMissing(t *testing.T) {
	reader := newStuck()
	logger, end := logging.New(reader, logging.Options{})
	logger.Info("first")
	<-reader.began
	const infos, failures = 20_000, 500 // some 4 MB, which no caller waits for
	filler := strings.Repeat("x", 150)
	for i := range infos {
		logger.Info("info", "filler", filler)
		if i%(infos/failures) == 0 {
			logger.Error("failure", "filler", filler)
		}
	}
	close(reader.read)
	end()
	text := reader.buf.String()
	if len(text) > 1<<20+1000 {
		t.Errorf("kept: got %d bytes, want at most 1 MiB and the notice", len(text))
	}
	count := map[string]int{}
	lines := parsed(t, text)
	for _, line := range lines {
		count[line["msg"].(string)]++
	}
	if count["failure"] != failures {
		t.Errorf("errors: got %d, want all %d", count["failure"], failures)
	}
	missing, _ := lines[1]["missing"].(float64)
	want := infos - count["info"]
	if int(missing) != want || want == 0 {
		t.Errorf("the first line after the pause: got %v, want one that says %d are missing", lines[1], want)
	}
	if got := logging.Missing(logger); got != int64(want) {
		t.Errorf("Missing: got %d, want %d", got, want)
	}
}

func TestLinesThatCannotBeWrittenAreMissing(t *testing.T) {
	out := &full{}
	out.set(errors.New("no space left on device"))
	logger, end := logging.New(out, logging.Options{Text: true})
	logger.Info("lost")
	out.waitFor(t, 1)
	logger.Error("lost too")
	out.waitFor(t, 2)
	out.set(nil)
	logger.Info("written")
	end()
	if text := out.buf.String(); !strings.Contains(text, "missing=2\n") || !strings.HasSuffix(text, "msg=written\n") || strings.Contains(text, "lost") {
		t.Errorf("got %q, want the number of lines that are missing and the next line", text)
	}
	if got := logging.Missing(logger); got != 2 {
		t.Errorf("Missing: got %d, want 2", got)
	}
}

// full is a disk that may be.
type full struct {
	mu     sync.Mutex
	err    error
	writes int
	buf    bytes.Buffer
}

func (f *full) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *full) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if f.err != nil {
		return 0, f.err
	}
	return f.buf.Write(p)
}

func (f *full) waitFor(t *testing.T, writes int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		f.mu.Lock()
		n := f.writes
		f.mu.Unlock()
		if n >= writes {
			return
		}
	}
	t.Fatalf("got fewer than %d writes, want so many", writes)
}

func TestAPipeThatNobodyReadsMakesNoCallerWait(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	logger, end := logging.New(w, logging.Options{})
	for range 50_000 { // 6 MB, and a pipe holds 64 KiB
		logger.Info("request", "path", strings.Repeat("x", 60))
	}
	begin := time.Now()
	end()
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("the end: got it after %v, want it to give up", took)
	}
}

var timeOfLine = regexp.MustCompile(`"?time"?[=:]"?20[0-9T:.-]+Z`)

func timeless(s string) string { return timeOfLine.ReplaceAllString(s, "") }

// whole returns the log of write.
func whole(t *testing.T, o logging.Options, write func(*slog.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	logger, end := logging.New(&out, o)
	write(logger)
	end()
	var direct bytes.Buffer
	write(slog.New(logging.NewHandler(&direct, o)))
	if timeless(out.String()) != timeless(direct.String()) {
		t.Errorf("got %q, want what the handler writes at once: %q", out.String(), direct.String())
	}
	return out.String()
}

func TestNoSecretIsWrittenWhereverItStands(t *testing.T) {
	const stored = "key_abcdefgh_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	secrets := []string{"a-fixed-key", "a-fixed-key-that-is-longer", ""}
	for _, text := range []bool{false, true} {
		for _, secret := range []string{secrets[0], secrets[1], stored} {
			said := whole(t, logging.Options{Text: text, Secrets: secrets, KeyPattern: regexp.MustCompile(`key_\w+`)}, func(l *slog.Logger) {
				l.Info("request", "path", "/v1/"+secret+"/x", "status", 1)
				l.Info(secret, "a", secret+secret)
				l.Error("failed", "error", fmt.Errorf("cannot find %q", secret))
				l.With("path", "/"+secret).WithGroup("g").Warn("group", "path", secret, "any", []string{secret})
				// Cut in the middle of the secret, half of it would be left.
				l.Info("request", "path", strings.Repeat("x", 250)+secret)
			})
			if strings.Contains(said, secret[:10]) || strings.Contains(said, "longer") {
				t.Errorf("got %s, want nothing of %s", said, secret)
			}
			if n := strings.Count(said, "REDACTED"); n < 7 {
				t.Errorf("got %s, want REDACTED in place of each secret", said)
			}
		}
	}
}

// encoded percent-encodes every nth octet of s, times times.
func encoded(s string, nth, times int) string {
	for range times {
		var b strings.Builder
		for i, c := range []byte(s) {
			if i%nth == 0 {
				fmt.Fprintf(&b, "%%%02x", c)
			} else {
				b.WriteByte(c)
			}
		}
		s = b.String()
	}
	return s
}

func TestNoSecretIsWrittenHoweverItIsEncoded(t *testing.T) {
	for _, secret := range []string{"a-fixed-key", "key_abcdefgh_0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		for times := range 4 {
			for nth := range 4 {
				path := "/" + strings.Repeat("x", 230) + "/%zz/" + encoded(secret, nth+1, times) + "/%"
				said := whole(t, logging.Options{Secrets: []string{"a-fixed-key"}, KeyPattern: regexp.MustCompile(`key_\w+`)}, func(l *slog.Logger) {
					l.Info("request", "path", path, "status", 404)
					l.Error("failed", "error", errors.New("no route for "+path))
				})
				for range 20 {
					if strings.Contains(said, secret) || strings.Contains(said, secret[4:]) {
						t.Fatalf("%q: got %s, which can be decoded to the secret", path, said)
					}
					said = decodeOnce(said)
				}
			}
		}
	}
}

var octet = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

func decodeOnce(s string) string {
	return octet.ReplaceAllStringFunc(s, func(e string) string {
		c, _ := strconv.ParseUint(e[1:], 16, 8) // by the expression
		return string([]byte{byte(c)})
	})
}

func TestATextThatIsDecodedWithoutASecretStays(t *testing.T) {
	for _, path := range []string{"/50%25", "/%2525", "/%", "/%zz%4", "/a%20b%C3%A9"} {
		said := whole(t, logging.Options{Secrets: []string{"a-fixed-key"}}, func(l *slog.Logger) { l.Info("request", "path", path) })
		if got := parsed(t, said)[0]["path"]; got != path {
			t.Errorf("got %v, want %s as it was", got, path)
		}
	}
	endless := "%" + strings.Repeat("25", 100)
	said := whole(t, logging.Options{}, func(l *slog.Logger) { l.Info("request", "path", endless) })
	if got := parsed(t, said)[0]["path"]; got != "REDACTED" {
		t.Errorf("a text that is encoded a hundred times: got %v, want REDACTED alone", got)
	}
}

func TestWhatAClientChoosesIsCutBeforeItIsEscaped(t *testing.T) {
	for _, text := range []bool{false, true} {
		said := whole(t, logging.Options{Text: text}, func(l *slog.Logger) {
			l.Info("request", "path", "/"+strings.Repeat("\x01", 30<<10), "method", strings.Repeat("é", 1000), "status", 404)
		})
		if len(said) > 4000 || !strings.Contains(said, "(30721 bytes in all)") || !strings.Contains(said, "(2000 bytes in all)") {
			t.Errorf("got a line of %d bytes, want less than 4000 with the sizes: %s", len(said), said)
		}
		if said := whole(t, logging.Options{Text: text}, func(l *slog.Logger) {
			l.Info("request", "path", strings.Repeat("x", 257))
		}); strings.Contains(said, strings.Repeat("x", 257)) || !strings.Contains(said, "(257 bytes in all)") {
			t.Errorf("got %s, want a path of 256 bytes and its size", said)
		}
		said = whole(t, logging.Options{Text: text}, func(l *slog.Logger) {
			l.Error("failed", "error", errors.New(strings.Repeat("stack ", 1000)))
		})
		if n := strings.Count(said, "stack"); n != 1000 {
			t.Errorf("an error: got %d words of 1000, want its stack whole", n)
		}
	}
}

func TestLinesBelowTheLevelAreNotWritten(t *testing.T) {
	said := whole(t, logging.Options{Level: slog.LevelWarn}, func(l *slog.Logger) {
		l.Debug("no")
		l.Info("no")
		l.Warn("yes")
	})
	if strings.Contains(said, `"no"`) || !strings.Contains(said, `"yes"`) {
		t.Errorf("got %s, want only the warning", said)
	}
}

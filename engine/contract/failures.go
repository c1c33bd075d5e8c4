package contract

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// failures counts the failures of a suite.
type failures struct {
	mu            sync.Mutex
	shownOf       map[string]int // by format
	shown, hidden int
}

// Assert reports what is wrong with the response, unless ok.
func (got Response) Assert(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	args = append([]any{got.sent.Send, got.sent.Body, got.StatusCode}, args...)
	got.suite.Assert(t, ok, "%.150q %.80q: %d: "+format, args...)
}

// exempt reports whether something is unpromised, and notes that it had to be.
func (s *Suite) exempt(name string) bool {
	s.seen[name+" exempt"] = true
	return s.Unpromised[name] != ""
}

// fatal reports a failure and ends the test.
func (s *Suite) fatal(t *testing.T, format string, args ...any) {
	t.Helper()
	s.Assert(t, false, format, args...)
	t.FailNow()
}

// Assert reports a failure in one line, unless ok, but at most three of a kind and 40 in all. The line has no
// key, not even a part of one that is cut.
func (s *Suite) Assert(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if ok {
		return
	}
	var keys []string
	for _, key := range []string{s.Key, s.OtherKey, s.ReadOnlyKey, s.ExpiredKey, s.RevokedKey, s.UnknownKey} {
		if key != "" {
			keys = append(keys, key, "KEY", url.QueryEscape(key), "KEY")
		}
	}
	hide := strings.NewReplacer(keys...)
	for i, arg := range args {
		switch arg.(type) {
		case string, error, []string, []any, object:
			args[i] = hide.Replace(fmt.Sprint(arg))
		}
	}
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	if s.shownOf[format] == 3 || s.shown == 40 {
		s.hidden++
		t.Fail()
		return
	}
	s.shownOf[format]++
	s.shown++
	t.Error(strings.ReplaceAll(hide.Replace(fmt.Sprintf(format, args...)), "\n", `\n`))
}

// difference returns the first bytes that two texts have otherwise, with some before them.
func difference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	start := max(0, i-20)
	return fmt.Sprintf("got %.80q at byte %d, want %.80q", got[start:], start, want[start:])
}

package contract

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// failures are the failures of a suite by their formats, and how many were shown.
type failures struct {
	mu    sync.Mutex
	kinds map[string]*kind
	lines int
}

type kind struct {
	first         string
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

// Assert reports a failure in one line, unless ok, but at most three of a kind and 20 in all. The line has no
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
	line := strings.ReplaceAll(hide.Replace(fmt.Sprintf(format, args...)), "\n", `\n`)
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	if s.kinds[format] == nil {
		s.kinds[format] = &kind{first: line}
	}
	if k := s.kinds[format]; k.shown < 3 && s.lines < 20 {
		k.shown++
		s.lines++
		t.Error(line)
	} else {
		k.hidden++
		t.Fail()
	}
}

// reportHidden counts the failures that were not shown, of 20 kinds. It begins with kinds of which none was.
func (s *Suite) reportHidden(t *testing.T) {
	kinds := slices.SortedFunc(maps.Values(s.kinds), func(a, b *kind) int {
		return cmp.Or(min(a.shown, 1)-min(b.shown, 1), b.hidden-a.hidden)
	})
	for _, k := range kinds[:min(len(kinds), 20)] {
		if k.hidden > 0 {
			t.Errorf("not shown: %d such as: %s", k.hidden, k.first)
		}
	}
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

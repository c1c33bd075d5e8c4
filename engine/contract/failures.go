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
	if !ok {
		args = append([]any{got.sent.Send, got.sent.Body, got.StatusCode}, args...)
		got.suite.fail(t, "%.150q %.80q: %d: "+format, args...)
	}
}

// Assert reports a failure, unless ok.
func (s *Suite) Assert(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		s.fail(t, format, args...)
	}
}

// fatal reports a failure and ends the test.
func (s *Suite) fatal(t *testing.T, format string, args ...any) {
	t.Helper()
	s.fail(t, format, args...)
	t.FailNow()
}

// fail reports a failure in one line, but at most three of a kind and 20 in all. The line has no key, not even
// a part of one that is cut.
func (s *Suite) fail(t *testing.T, format string, args ...any) {
	t.Helper()
	var keys []string
	for _, key := range []string{s.Key, s.OtherKey, s.ReadOnlyKey, s.ExpiredKey, s.RevokedKey} {
		if key != "" {
			keys = append(keys, key, "KEY", url.QueryEscape(key), "KEY")
		}
	}
	hide := strings.NewReplacer(keys...)
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = hide.Replace(arg)
		case error, []string, []any, object:
			args[i] = hide.Replace(fmt.Sprint(arg))
		}
	}
	line := strings.ReplaceAll(hide.Replace(fmt.Sprintf(format, args...)), "\n", `\n`)
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[string]*kind{}
	}
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

// reportHidden counts the failures that were not shown, beginning with kinds that were not shown at all.
func (s *Suite) reportHidden(t *testing.T) {
	others := 0
	for i, k := range slices.SortedFunc(maps.Values(s.kinds), func(a, b *kind) int {
		return cmp.Or(min(a.shown, 1)-min(b.shown, 1), b.hidden-a.hidden)
	}) {
		if i >= 20 {
			others += k.hidden
		} else if k.hidden > 0 {
			t.Errorf("not shown: %d such as: %s", k.hidden, k.first)
		}
	}
	if others > 0 {
		t.Errorf("not shown: %d of other kinds", others)
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

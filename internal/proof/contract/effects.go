package contract

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/routers"
)

// unpromised has what an operation need not do, in the words of a failure, such as "createPet answer".
var unpromised = map[string]bool{}

// promise reports what is wrong with the response of an operation, unless ok.
func (got response) promise(t *testing.T, r *routers.Route, check string, ok bool, format string, args ...any) {
	t.Helper()
	name := r.Operation.OperationID + " " + check
	got.assert(t, ok || unpromised[name], name+": "+format, args...)
}

// read reads what a path has, twice, unless the document has no GET for it. It is stable if it is
// the same both times.
func (s *suite) read(t *testing.T, path string) (got response, found, stable bool) {
	t.Helper()
	c := testCase{send: "GET " + path + "\n" + bearer(s.key)}
	if s.route(c).Operation == nil {
		return got, false, false
	}
	first, got := s.send(t, c), s.send(t, c)
	return got, true, first.body == got.body
}

// readPath returns where the effect of a write can be read: at its path or, if that is an action
// such as /pets/{petId}/feed, above it.
func readPath(r *routers.Route, target string) string {
	if r.PathItem.Get == nil && strings.HasSuffix(path.Dir(r.Path), "}") {
		return path.Dir(target)
	}
	return target
}

// otherIdentifiers sends a request with another identifier in its path, for each. A GET may return
// anything, which is recorded. A write is refused if there is nothing to read, but a PUT may create it.
func (s *suite) otherIdentifiers(t *testing.T, c testCase, r *routers.Route) {
	t.Helper()
	_, target := c.target()
	target, _, _ = strings.Cut(target, "?")
	for name, value := range identifiers(r, target) {
		other, _ := decode(s.first[" path "+name]).(string)
		if other == "" || other == value {
			continue
		}
		parts := strings.Split(target, "/")
		parts[slices.Index(strings.Split(r.Path, "/"), "{"+name+"}")] = url.PathEscape(other)
		changed, path := c, strings.Join(parts, "/")
		changed.send = strings.Replace(c.send, target, path, 1)
		if r.Method == http.MethodGet {
			s.send(t, changed)
			continue
		}
		none, found, _ := s.read(t, readPath(r, path))
		if found && none.StatusCode == http.StatusNotFound && r.Method != http.MethodPut {
			got := s.send(t, changed)
			got.promise(t, r, "identifier", got.StatusCode >= 400, "got a success with the %s of another, want 404", name)
		}
	}
}

// identifiers returns the parameters in a path.
func identifiers(r *routers.Route, path string) map[string]string {
	all, parts := map[string]string{}, strings.Split(path, "/")
	for i, name := range strings.Split(r.Path, "/") {
		if parameter.MatchString(name) {
			all[strings.Trim(name, "{}")], _ = url.PathUnescape(parts[i])
		}
	}
	return all
}

// write tests a case that writes, by what can be read before and after it.
func (s *suite) write(t *testing.T, c testCase, r *routers.Route) response {
	t.Helper()
	_, target := c.target()
	target, _, _ = strings.Cut(target, "?")
	path := readPath(r, target)
	before, _, stable := s.read(t, path)
	got := s.expect(t, c)
	location, _ := url.Parse(got.Header.Get("Location"))
	after, found, stableAfter := s.read(t, cmp.Or(location.Path, path))
	switch {
	case !found || got.StatusCode == http.StatusAccepted: // it is done later
	case got.StatusCode >= 400:
		same := !stable || after.body == before.body
		got.promise(t, r, "refusal", same, "then got %.200s, want %.200s as before", after.body, before.body)
	case r.Method == http.MethodDelete:
		gone := path != target || after.StatusCode == http.StatusNotFound || after.StatusCode == http.StatusGone
		got.promise(t, r, "removal", gone, "then got %.200s, want 404 or 410", after.body)
	default:
		s.expect(t, testCase{send: after.sent.send, want: "200"})
		_, answered := jsonBody(responseContent(got, r))
		if _, shown := jsonBody(responseContent(after, s.route(after.sent))); stableAfter && answered == shown {
			same := reflect.DeepEqual(decode(got.body), decode(after.body))
			got.promise(t, r, "answer", same, "got %.300s, want %.300s as then read", got.body, after.body)
		}
		if isMergePatch(got) {
			s.checkMerge(t, r, before, got, after)
		}
	}
	return got
}

func isMergePatch(got response) bool {
	return strings.HasPrefix(got.Request.Header.Get("Content-Type"), "application/merge-patch+json")
}

// merge returns a JSON value after a patch (RFC 7396).
func merge(v, patch any) any {
	changes, ok := patch.(object)
	if !ok {
		return patch
	}
	was, _ := v.(object)
	merged := object{}
	maps.Copy(merged, was)
	for name, change := range changes {
		if merged[name] = merge(merged[name], change); change == nil {
			delete(merged, name)
		}
	}
	return merged
}

// checkMerge checks that a patch has changed what it had, and nothing else that a patch may have.
func (s *suite) checkMerge(t *testing.T, r *routers.Route, before, got, after response) {
	t.Helper()
	_, patch := jsonBody(requestContent(r))
	want, _ := merge(decode(before.body), decode(got.sent.body)).(object)
	for _, shown := range []response{got, after} {
		v, _ := decode(shown.body).(object)
		documented := schemasOf(responseContent(shown, s.route(shown.sent)))
		for name, p := range patch.Properties {
			if v == nil || documented["."+name] == nil || p.Value.ReadOnly || p.Value.WriteOnly {
				continue
			}
			wanted := []string{content(want[name])}
			if want[name] == nil {
				wanted = append(wanted, content(decode(encode(p.Value.Default))))
			}
			ok := slices.Contains(wanted, content(v[name]))
			got.promise(t, r, "merge", ok, "%s: got %v, want %v", name, v[name], want[name])
		}
	}
}

// once sends a request eight times at once, with bodies that body returns. One must succeed, and the
// others get a status such as 409.
func (s *suite) once(t *testing.T, send string, refused int, body func() string) {
	t.Helper()
	statuses := make([]int, 8)
	var wg sync.WaitGroup
	for i := range statuses {
		c := testCase{send: send + "\n" + bearer(s.key), body: body()}
		wg.Go(func() { statuses[i] = s.send(t, c).StatusCode })
	}
	wg.Wait()
	slices.Sort(statuses)
	ok := statuses[0] < 300 && statuses[1] == refused && statuses[7] == refused
	assert(t, ok, "%.150q at once: got %v, want one success and %d", send, statuses, refused)
}

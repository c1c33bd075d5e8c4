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

// promise reports what is wrong with the response of an operation, unless ok or unpromised.
func (got Response) promise(t *testing.T, check string, ok bool, format string, args ...any) {
	t.Helper()
	name := got.route.Operation.OperationID + " " + check
	got.Assert(t, ok || got.suite.Unpromised[name], name+": "+format, args...)
}

// read sends a GET twice, if the document has one for the path; found tells. It is stable if both
// responses are the same.
func (s *Suite) read(t *testing.T, path string) (got Response, found, stable bool) {
	t.Helper()
	c := Case{Send: "GET " + path + "\n" + bearer(s.Key)}
	if r, _ := s.route(c); r == nil {
		return Response{Response: &http.Response{}}, false, false
	}
	first, got := s.send(t, c), s.send(t, c)
	return got, true, first.Body == got.Body
}

// readPath returns where the effect of a write can be read: at its path or, if that is an action
// such as /books/{bookId}/lend, above it.
func readPath(r *routers.Route, target string) string {
	if r.PathItem.Get == nil && strings.HasSuffix(path.Dir(r.Path), "}") {
		return path.Dir(target)
	}
	return target
}

// otherIdentifiers sends a request with another identifier in its path, for each. A GET may return
// anything, which is recorded. A write is refused if there is nothing to read, but a PUT may create it.
func (s *Suite) otherIdentifiers(t *testing.T, c Case, r *routers.Route, ids map[string]string) {
	t.Helper()
	for name, value := range ids {
		other, _ := Decode(s.first[" path "+name]).(string)
		if other == "" || other == value {
			continue
		}
		_, target, _ := c.target()
		changed, path := c, pathWith(r, ids, name, other)
		changed.Send = strings.Replace(c.Send, target, path, 1)
		if r.Method == http.MethodGet {
			s.send(t, changed)
			continue
		}
		none, found, _ := s.read(t, readPath(r, path))
		if found && none.StatusCode == http.StatusNotFound && r.Method != http.MethodPut {
			got := s.send(t, changed)
			got.promise(t, "identifier", got.StatusCode >= 400, "got a success with the %s of another, want 404", name)
		}
	}
}

// write tests a case that writes, by what can be read before and after it. A success is sent with the
// ETag of what it changes, if it takes one, and a 412 is due with another.
func (s *Suite) write(t *testing.T, c Case, r *routers.Route) Response {
	t.Helper()
	_, target, _ := c.target()
	path := readPath(r, target)
	before, _, stable := s.read(t, path)
	tag, conditional := before.Header.Get("ETag"), strings.HasPrefix(c.Want, "2") && takes(r, "If-Match")
	if conditional && tag != "" {
		s.write(t, Case{Send: c.with(`If-Match: "another"`).Send, Body: c.Body, Want: "412"}, r)
		c = c.with("If-Match: " + tag)
	}
	got := s.Expect(t, c)
	after, found, stableAfter := s.read(t, cmp.Or(got.location(), path))
	switch {
	case !found || got.StatusCode == http.StatusAccepted: // it is done later
	case got.StatusCode >= 400:
		same := !stable || after.Body == before.Body
		got.promise(t, "refusal", same, "then got %.200s, want %.200s as before", after.Body, before.Body)
	case r.Method == http.MethodDelete:
		gone := path != target || after.StatusCode == http.StatusNotFound || after.StatusCode == http.StatusGone
		got.promise(t, "removal", gone, "then got %.200s, want 404 or 410", after.Body)
	default:
		s.Expect(t, Case{Send: after.sent.Send, Want: "200"})
		_, answered := jsonBody(got.content())
		if _, shown := jsonBody(after.content()); stableAfter && answered == shown {
			same := reflect.DeepEqual(got.value, after.value)
			got.promise(t, "answer", same, "got %.300s, want %.300s as then read", got.Body, after.Body)
		}
		if newTag := after.Header.Get("ETag"); conditional && tag != "" && newTag != tag {
			s.write(t, Case{Send: c.Send, Body: c.Body, Want: "412"}, r)
		}
	}
	return got
}

// location returns the path that the header Location has, or "".
func (got Response) location() string {
	location, err := url.Parse(got.Header.Get("Location"))
	if err != nil {
		return "" // which check reports
	}
	return location.Path
}

// stored returns what a read should show of a write that succeeded: the body with defaults of what it
// leaves out or, after a merge-patch (RFC 7396), what was there before with the changes.
func (s *Suite) stored(got Response) any {
	sent, documented := bodyValue(got.Request.Header, got.sent.Body), schemasOf(requestContent(got.route))
	before, media := s.last[got.path], got.Request.Header.Get("Content-Type")
	isMerge := strings.HasPrefix(media, "application/merge-patch+json")
	switch {
	case got.StatusCode == http.StatusAccepted || isMerge && before == nil: // it is done later, or to something unknown
		return nil
	case isMerge:
		return merge(before, sent)
	case got.route.Method == http.MethodPatch: // which has no defaults
		return sent
	}
	each("", sent, func(place string, v any) {
		o, isObject := v.(object)
		for _, part := range documented[place] {
			for name, p := range part.Properties {
				if _, given := o[name]; isObject && !given && p.Value.Default != nil {
					o[name] = Decode(Encode(p.Value.Default))
				}
			}
		}
	})
	return sent
}

// merge returns a JSON value after a merge-patch. What the patch removes is null.
func merge(v, patch any) any {
	changes, ok := patch.(object)
	if !ok {
		return patch
	}
	merged := object{}
	was, _ := v.(object)
	maps.Copy(merged, was)
	for name, change := range changes {
		merged[name] = merge(merged[name], change)
	}
	return merged
}

// checkShown checks that a success shows what the last write there must have stored, and that another
// body has another ETag.
func (s *Suite) checkShown(t *testing.T, got Response) {
	t.Helper()
	if tag := got.Header.Get("ETag"); got.route.Method == http.MethodGet {
		changed := s.differs(got.Request.URL.String()+tag, got.Body)
		got.Assert(t, tag == "" || !changed, "ETag: got %s, which another body had, want another", tag)
		s.last[got.path] = got.value
	} else {
		s.writes, s.written, s.want = s.writes+1, got, s.stored(got)
		clear(s.last)
	}
	sent := s.written
	isThere := sent.Response != nil && (got.path == sent.path || got.path == sent.location())
	_, isText := s.want.(string)
	sameType := !isText || sent.Request.Header.Get("Content-Type") == got.Header.Get("Content-Type")
	if !isThere || !sameType || reflect.TypeOf(got.value) != reflect.TypeOf(s.want) {
		return
	}
	documented := schemasOf(requestContent(sent.route))
	schemasOf(got.content()).compare("", s.want, got.value, func(place string, want, v any) {
		parts := documented[place]
		if parts == nil || parts[0].ReadOnly || parts[0].WriteOnly {
			return
		}
		byDefault := want == nil && reflect.DeepEqual(plain(v), plain(Decode(Encode(parts[0].Default))))
		got.promise(t, place, byDefault, "got %.300s, want %.300s as it was sent, or by default", Encode(v), Encode(want))
	})
}

// once sends a request eight times at once, with bodies that body returns. One must succeed, and the
// others get a status such as 409.
func (s *Suite) Once(t *testing.T, send string, refused int, body func() string) {
	t.Helper()
	statuses := make([]int, 8)
	var wg sync.WaitGroup
	for i := range statuses {
		c := Case{Send: send + "\n" + bearer(s.Key), Body: body()}
		wg.Go(func() { statuses[i] = s.send(t, c).StatusCode })
	}
	wg.Wait()
	slices.Sort(statuses)
	ok := statuses[0] < 300 && statuses[1] == refused && statuses[7] == refused
	s.Assert(t, ok, "%.150q at once: got %v, want one success and %d", send, statuses, refused)
}

package contract

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/routers"
)

// promise reports what is wrong with the response of an operation, unless ok or unpromised.
func (got Response) promise(t *testing.T, check string, ok bool, format string, args ...any) {
	t.Helper()
	name := got.route.Operation.OperationID + " " + check
	got.Assert(t, ok || got.suite.exempt(name), name+": "+format, args...)
}

// read sends a GET twice, if the document has one for the path; found tells. Both must have the same response.
func (s *Suite) read(t *testing.T, path string) (got Response, found bool) {
	t.Helper()
	c := Case{Send: "GET " + path + "\n" + bearer(s.Key)}
	if r, _ := s.route(c); r == nil {
		return Response{Response: &http.Response{}}, false
	}
	first, got := s.send(t, c), s.send(t, c)
	got.promise(t, "read", first.Body == got.Body, "got %.300s, want %.300s as before", got.Body, first.Body)
	return got, true
}

// readPath returns where a write can be read: at its path or, if that is an action as /books/{bookId}/lend, above.
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
		parts := strings.Split(target, "/")
		parts[slices.Index(strings.Split(r.Path, "/"), "{"+name+"}")] = url.PathEscape(other)
		changed, path := c, strings.Join(parts, "/")
		changed.Send = strings.Replace(c.Send, target, path, 1)
		if r.Method == http.MethodGet {
			s.send(t, changed)
			continue
		}
		none, found := s.read(t, readPath(r, path))
		if found && none.StatusCode == http.StatusNotFound && r.Method != http.MethodPut {
			got := s.send(t, changed)
			got.promise(t, "identifier", got.StatusCode >= 400, "got a success with the %s of another, want 404", name)
		}
	}
}

// write tests a case that writes, by what can be read before and after it. A success is sent with the
// ETag of what it changes and with an Idempotency-Key, if the operation takes them.
func (s *Suite) write(t *testing.T, c Case, r *routers.Route) Response {
	t.Helper()
	_, target, _ := c.target()
	path, name, list, id := readPath(r, target), r.Operation.OperationID, target, ""
	if strings.HasSuffix(r.Path, "}") {
		list, id = target[:strings.LastIndex(target, "/")], target[strings.LastIndex(target, "/")+1:]
	}
	start := s.ends[target] // of the page where a new element will be
	before, _ := s.read(t, path)
	rows, _ := s.rows(t, list, start)
	takes := func(header string) bool { return !strings.HasPrefix(c.Want, "4") && parameter(r, header) != nil }
	tag := before.Header.Get("ETag")
	conditional, repeatable := takes("If-Match") && tag != "", takes("Idempotency-Key")
	isNew := !keyLine.MatchString(c.Send)
	if repeatable && isNew {
		c = c.with("Idempotency-Key: " + newKey())
	}
	if conditional {
		s.write(t, Case{Send: c.with(`If-Match: "another"`).Send, Body: c.Body, Want: "412"}, r)
		c = c.with("If-Match: " + tag)
	}
	got := s.Expect(t, c)
	if got.StatusCode == http.StatusAccepted && got.location() != "" {
		s.job(t, got)
	}
	after, found := s.read(t, cmp.Or(got.location(), path))
	rowsAfter, end := s.rows(t, list, start)
	if id != "" && got.StatusCode < 300 {
		isIt := func(v any) bool { return identifier(v) == id }
		was, is := slices.DeleteFunc(slices.Clone(rows), isIt), slices.Clone(rowsAfter)
		if r.Method != http.MethodDelete {
			is = slices.DeleteFunc(is, isIt)
		}
		got.promise(t, "list", reflect.DeepEqual(is, was), "then got a list of %d, want %d others as before", len(is), len(was))
	} else if s.ends[target] = end; got.StatusCode == http.StatusCreated && isNew && end != "" {
		isIt := func(v any) bool { return reflect.DeepEqual(v, got.value) }
		others := slices.DeleteFunc(slices.Clone(rowsAfter), isIt)
		more := len(rowsAfter) - len(others)
		if more == 0 { // on another page, if the list has another order
			all, _ := s.rows(t, list, "")
			more = len(all) - len(slices.DeleteFunc(all, isIt))
		}
		same := more == 1 && reflect.DeepEqual(others, rows)
		got.promise(t, "list", same, "then got a list of %d others and %d times %.200s, want %d and once", len(others), more, got.Body, len(rows))
	}
	switch {
	case !found || got.StatusCode == http.StatusAccepted: // see job
	case got.StatusCode >= 400:
		was, is := before.Body+Encode(rows), after.Body+Encode(rowsAfter)
		got.promise(t, "refusal", is == was, "then %s as before", difference(is, was))
	case r.Method == http.MethodDelete && path == target:
		gone := after.StatusCode == http.StatusNotFound || after.StatusCode == http.StatusGone
		got.promise(t, "removal", gone, "then got %.200s, want 404 or 410", after.Body)
		s.seen[name+" read back"] = true
	case got.StatusCode != http.StatusCreated || got.location() != "":
		s.Expect(t, Case{Send: after.sent.Send, Want: "200"})
		_, answered := jsonBody(got.content())
		if _, shown := jsonBody(after.content()); answered == shown {
			same := reflect.DeepEqual(got.value, after.value)
			got.promise(t, "answer", same, "got %.300s, want %.300s as then read", got.Body, after.Body)
			sent, read := got.Header.Get("ETag"), after.Header.Get("ETag")
			got.Assert(t, sent == "" || sent == read, "ETag: got %s, want %s as then read", sent, read)
		}
		if conditional && after.Header.Get("ETag") != tag {
			s.write(t, Case{Send: c.Send, Body: c.Body, Want: "412"}, r)
		}
		s.seen[name+" read back"] = true
	}
	if repeatable && got.StatusCode < 300 {
		s.repeat(t, c, got)
	}
	return got
}

// job waits at most 10 s until what a response with the status 202 names ends: until a property has one of
// the values that the extension x-final of its schema lists.
func (s *Suite) job(t *testing.T, got Response) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		now := s.send(t, Case{Send: "GET " + got.location() + "\n" + bearer(s.Key)})
		documented, ended := schemasOf(now.content()), false
		each("", now.value, func(place string, v any) {
			for _, part := range documented[place] {
				final, _ := part.Extensions["x-final"].([]any)
				ended = ended || slices.Contains(final, v)
			}
		})
		if ended || time.Now().After(deadline) {
			got.promise(t, "job", ended, "then got %.200s for 10 s, want a value that x-final has", now.Body)
			s.seen[got.route.Operation.OperationID+" read back"] = true
			return
		}
	}
}

var keyLine = regexp.MustCompile(`\nIdempotency-Key: (.*)`)

// newKey returns an Idempotency-Key that no other run has.
func newKey() string { return fmt.Sprint("key", time.Now().UnixNano()) }

// repeat tests that a request with the same Idempotency-Key, quoted or not, has the same response, and a 422
// with another body; that it is another one of another API key; and that of several at once only one counts.
func (s *Suite) repeat(t *testing.T, c Case, got Response) {
	t.Helper()
	name, key := got.route.Operation.OperationID, keyLine.FindStringSubmatch(c.Send)[1]
	with := func(key string) string { return keyLine.ReplaceAllLiteralString(c.Send, "\nIdempotency-Key: "+key) }
	same := func(again, got Response) {
		t.Helper()
		ok := again.Body == got.Body && again.location() == got.location()
		again.promise(t, "repeat", ok, "got %.200s, want %.200s as the first time", again.Body, got.Body)
	}
	other, err := strconv.Unquote(key)
	if err != nil {
		other = strconv.Quote(key)
	} else if strings.Contains(other, `"`) {
		other = key // which cannot do without quotes
	}
	spelled := c.Body // with defaults
	if o, isObject := s.stored(got).(object); isObject {
		spelled = Encode(o)
	}
	for key, body := range map[string]string{key: c.Body, other: spelled} {
		same(s.Expect(t, Case{Send: with(key), Body: body, Want: fmt.Sprint(got.StatusCode)}), got)
	}
	isOther, before, documented := false, s.accepted[name], schemasOf(requestContent(got.route))
	documented.compare("", Decode(before), Decode(c.Body), func(string, any, any) { isOther = true })
	s.accepted[name] = c.Body
	if before == "" || !isOther {
		return
	}
	s.write(t, Case{Send: c.Send, Body: before, Want: "422"}, got.route)
	if s.seen[name+" repeat"] {
		return
	}
	if s.OtherKey != "" {
		another := s.send(t, Case{Send: strings.Replace(c.Send, s.Key, s.OtherKey, 1), Body: c.Body})
		another.promise(t, "repeat", another.Body != got.Body, "got %.200s, the response to another API key", got.Body)
	}
	key = newKey()
	all := s.atOnce(t, with(key), func() string { return c.Body })
	for _, again := range all {
		same(again, all[0])
	}
	s.seen[name+" repeat"] = true
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
	case isMerge && before == nil: // to something unknown
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
	if !isThere || reflect.TypeOf(got.value) != reflect.TypeOf(s.want) {
		return
	}
	sentAs, media := sent.Request.Header.Get("Content-Type"), got.Header.Get("Content-Type")
	if isText && sentAs != media {
		other := got.content().Get(sentAs) == nil
		got.promise(t, "media type", other, "got %s, want %s as it was sent", media, sentAs)
		return
	}
	documented := schemasOf(requestContent(sent.route))
	shown := schemasOf(got.content())
	if strings.HasPrefix(sentAs, "application/merge-patch+json") {
		documented = shown // what the patch does not have stays as it was
	}
	shown.compare("", s.want, got.value, func(place string, want, v any) {
		parts := documented[place]
		if parts == nil || parts[0].ReadOnly || parts[0].WriteOnly {
			return
		}
		byDefault := want == nil && reflect.DeepEqual(plain(v), plain(Decode(Encode(parts[0].Default))))
		got.promise(t, place, byDefault, "%s as it was sent, or by default", difference(Encode(v), Encode(want)))
	})
}

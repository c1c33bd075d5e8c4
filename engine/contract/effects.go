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

// read sends a GET twice, if the document has one for the path; found tells. Both must have the same response.
func (s *Suite) read(t *testing.T, path string) (got Response, found bool) {
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
	for name, value := range ids {
		other := s.first[" path "+name]
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
	_, target, _ := c.target()
	readAt, name, list, id := readPath(r, target), r.Operation.OperationID, target, ""
	if strings.HasSuffix(r.Path, "}") {
		list, id = path.Dir(target), path.Base(target)
	}
	start := s.ends[target] // of the page where a new element will be
	before, _ := s.read(t, readAt)
	rows, _ := s.rows(t, list, start)
	takes := func(header string) bool { return !strings.HasPrefix(c.Want, "4") && parameter(r, header) != nil }
	tag := before.Header.Get("ETag")
	isNew := !keyLine.MatchString(c.Send)
	conditional, repeatable := takes("If-Match") && tag != "", takes("Idempotency-Key")
	if repeatable && isNew {
		c = c.with("Idempotency-Key: " + newKey())
	}
	if conditional {
		s.write(t, Case{Send: c.with(`If-Match: "another"`).Send, Body: c.Body, Want: "412"}, r)
		c = c.with("If-Match: " + tag)
	}
	got := s.Expect(t, c)
	success := got.StatusCode < 300
	if got.StatusCode == http.StatusAccepted && got.location() != "" {
		s.job(t, got)
	}
	after, found := s.read(t, cmp.Or(got.location(), readAt))
	rowsAfter, end := s.rows(t, list, start)
	s.ends[list] = end
	if success && (id != "" || got.StatusCode == http.StatusCreated && isNew) {
		isIt := func(v any) bool {
			return id != "" && identifier(v) == id || id == "" && reflect.DeepEqual(v, got.value)
		}
		was, is := slices.DeleteFunc(slices.Clone(rows), isIt), slices.DeleteFunc(slices.Clone(rowsAfter), isIt)
		times, want := len(rowsAfter)-len(is), 1
		if r.Method == http.MethodDelete || end == "" {
			want = 0
		}
		if times < want { // on another page, if the list has another order
			all, _ := s.rows(t, list, "")
			times = len(all) - len(slices.DeleteFunc(slices.Clone(all), isIt))
		}
		same := times == want && reflect.DeepEqual(is, was)
		got.promise(t, "list", same, "then got a list of %d others, and it %d times, want the %d as before, and it %d times",
			len(is), times, len(was), want)
	}
	stored := got.stored(before)
	got.shows(t, got, stored)
	if readAt == target || got.location() != "" {
		after.shows(t, got, stored)
	}
	switch {
	case !found || got.StatusCode == http.StatusAccepted: // see job
	case !success:
		was, is := before.Body+Encode(rows), after.Body+Encode(rowsAfter)
		got.promise(t, "refusal", is == was, "then %s as before", difference(is, was))
	case r.Method == http.MethodDelete && readAt == target:
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
	if repeatable && success {
		s.repeat(t, c, got, stored)
	}
	return got
}

// job waits at most 10 s until what a 202 names ends: until a property has a value that x-final of its schema lists.
func (s *Suite) job(t *testing.T, got Response) {
	now, ended := got, false
	for start := time.Now(); !ended && time.Since(start) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		now = s.send(t, Case{Send: "GET " + got.location() + "\n" + bearer(s.Key)})
		documented := schemasOf(now.content())
		each("", now.value, func(place string, v any) {
			for _, part := range documented[place] {
				final, _ := part.Extensions["x-final"].([]any)
				ended = ended || slices.Contains(final, v)
			}
		})
	}
	got.promise(t, "job", ended, "then got %.200s for 10 s, want a value that x-final has", now.Body)
	s.seen[got.route.Operation.OperationID+" read back"] = true
}

var keyLine = regexp.MustCompile(`\nIdempotency-Key: (.*)`)

// newKey returns an Idempotency-Key that no other run has.
func newKey() string { return fmt.Sprint("key", time.Now().UnixNano()) }

// repeat tests that a request with the same Idempotency-Key, quoted or not, has the same response, and a 422
// with another body; that it is another one of another API key; and that of several at once only one counts.
func (s *Suite) repeat(t *testing.T, c Case, got Response, stored any) {
	name, key := got.route.Operation.OperationID, keyLine.FindStringSubmatch(c.Send)[1]
	with := func(key string) string { return keyLine.ReplaceAllLiteralString(c.Send, "\nIdempotency-Key: "+key) }
	same := func(again, got Response) {
		ok := again.Body == got.Body && again.location() == got.location()
		again.promise(t, "repeat", ok, "got %.200s, want %.200s as the first time", again.Body, got.Body)
	}
	other, err := strconv.Unquote(key)
	if err != nil {
		other = strconv.Quote(key)
	} else if strings.Contains(other, `"`) {
		other = key // which cannot do without quotes
	}
	spelled := c.Body
	if o, isObject := stored.(object); isObject && !got.isMerge() {
		spelled = Encode(o) // with defaults
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
func (got Response) stored(before Response) any {
	sent, documented := bodyValue(got.Request.Header, got.sent.Body), schemasOf(requestContent(got.route))
	if got.isMerge() && before.StatusCode == http.StatusOK {
		return merge(before.value, sent)
	}
	if got.route.Method == http.MethodPatch { // which has no defaults
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

// isMerge reports whether a request had a merge-patch.
func (got Response) isMerge() bool {
	return strings.HasPrefix(got.Request.Header.Get("Content-Type"), "application/merge-patch+json")
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

// shows checks that a success shows what a write that succeeded must have stored.
func (got Response) shows(t *testing.T, written Response, stored any) {
	if got.StatusCode >= 300 || written.StatusCode >= 300 || reflect.TypeOf(got.value) != reflect.TypeOf(stored) {
		return
	}
	sentAs, media := written.Request.Header.Get("Content-Type"), got.Header.Get("Content-Type")
	if _, isText := stored.(string); isText && sentAs != media {
		got.promise(t, "media type", got.content().Get(sentAs) == nil, "got %s, want %s as it was sent", media, sentAs)
		return
	}
	documented, shown := schemasOf(requestContent(written.route)), schemasOf(got.content())
	if written.isMerge() {
		documented = shown // what the patch does not have stays as it was
	}
	shown.compare("", stored, got.value, func(place string, want, v any) {
		parts := documented[place]
		if parts == nil || parts[0].ReadOnly || parts[0].WriteOnly {
			return
		}
		byDefault := want == nil && reflect.DeepEqual(plain(v), plain(Decode(Encode(parts[0].Default))))
		got.promise(t, place, byDefault, "%s as it was sent, or by default", difference(Encode(v), Encode(want)))
	})
}

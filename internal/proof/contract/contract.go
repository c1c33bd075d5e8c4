// Package contract tests a running service against openapi.yaml and what the README says
// of it. The service may be at any address. Nobody else should write to it meanwhile, and
// the tests leave some hundred pets in it.
//
// cases.go has tables of requests and responses, and sequences of several requests: an operation that
// is added gets its cases there. check.go checks each response by itself. document.go tests what can be
// read from the document, of any operation, and leaves out what it cannot judge. effects.go compares a
// write with what can be read before and after it. coverage.go records each request and response, and
// names what no case has sent or seen. values.go compares JSON and other bodies.
package contract

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"

	"example.com/petstore/internal/example"
)

// suite is a service under test, with what its cases share. Cases that need an optional key
// are left out if that key is empty.
type suite struct {
	url     string // for example http://127.0.0.1:8080/v1
	address string // what the served document says of it
	key     string // a key that may read and add pets

	otherKey    string // another such key
	readOnlyKey string // a key that may only read
	expiredKey  string
	revokedKey  string

	base       string // the path of URL, /v1
	client     *http.Client
	document   *openapi3.T
	operations []*routers.Route // all of the document
	run        string           // makes keys and names differ from those of other runs
	mu         sync.Mutex
	history
}

// test runs all tests against the service.
func (s *suite) test(t *testing.T) {
	s.base, s.document = example.Base(), example.OpenAPI()
	for _, path := range s.document.Paths.InMatchingOrder() {
		item := s.document.Paths.Value(path)
		for method, o := range item.Operations() {
			s.operations = append(s.operations, &routers.Route{
				Spec: s.document, Path: s.base + path, PathItem: item, Method: method, Operation: o,
			})
		}
	}
	s.run = fmt.Sprint(time.Now().UnixNano())
	s.history = history{
		seen: map[string]bool{}, shown: map[*openapi3.SchemaRef]bool{}, first: map[string]string{},
		queries: map[string][]string{}, longest: map[string]response{}, last: map[string]any{},
	}
	s.client = &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true},
	}
	t.Run("Cases", s.cases)
	t.Run("Authentication", s.authentication)
	t.Run("Methods", s.methods)
	t.Run("Parameters", s.parameters)
	t.Run("Bodies", s.bodies)
	t.Run("Create", s.create)
	t.Run("Retry", s.retry)
	t.Run("LongTexts", s.longTexts)
	t.Run("Lists", s.lists)
	t.Run("Coverage", s.coverage) // of the tests before it
}

// testCase is a request and the response that it must get. Empty fields are not compared.
type testCase struct {
	send  string // METHOD TARGET, then lines of the header; the target is sent unchanged
	body  string // JSON if the header does not say otherwise
	noKey bool   // do not send the key

	want   string // the status, and the code of the Error body
	says   string // words that the message of an error, or the body of a success, must have
	same   string // the whole body
	header string // lines that the header must have, their values as regular expressions

	gateway bool // a gateway, which names itself in Server, may refuse the request with a 400
}

// with returns c with another line of the header.
func (c testCase) with(line string) testCase {
	c.send += "\n" + line
	return c
}

// target returns the method, the path and the query.
func (c testCase) target() (method, path, query string) {
	line, _, _ := strings.Cut(c.send, "\n")
	method, target, _ := strings.Cut(line, " ")
	path, query, _ = strings.Cut(target, "?")
	return method, path, query
}

func bearer(key string) string { return "Authorization: Bearer " + key }

// try tests a case, that its operation needs a key, and what it changes. A client that has the
// response already gets a 304.
func (s *suite) try(t *testing.T, c testCase) response {
	t.Helper()
	r, ids := s.route(c)
	if !c.noKey && r != nil {
		s.needsKey(t, c, r)
	}
	if !c.noKey {
		c = c.with(bearer(s.key))
	}
	if r != nil {
		s.otherIdentifiers(t, c, r, ids)
	}
	if r != nil && r.Method != http.MethodGet {
		return s.write(t, c, r)
	}
	got := s.expect(t, c)
	if tag := got.Header.Get("ETag"); tag != "" && (r == nil || r.Operation.Responses.Status(http.StatusNotModified) != nil) {
		s.expect(t, c.with(`If-None-Match: "another"`))
		s.expect(t, testCase{send: c.with("If-None-Match: " + tag).send, want: "304"})
	}
	return got
}

// needsKey tests that the operation of a case answers 401 without a key, unless it is public; and
// with a key that may only read the same as with another, or 403 if it writes.
func (s *suite) needsKey(t *testing.T, c testCase, r *routers.Route) {
	t.Helper()
	if security := r.Operation.Security; security == nil || len(*security) > 0 {
		s.expect(t, testCase{send: c.send, body: c.body, want: "401 unauthorized", header: noCredentials})
	}
	if s.readOnlyKey == "" {
		return
	}
	reader := c.with(bearer(s.readOnlyKey))
	if r.Method != http.MethodGet {
		reader = testCase{send: reader.send, body: c.body, want: "403 forbidden"}
	}
	s.expect(t, reader)
}

// expect sends the request of a case and compares the response. HEAD gets what GET gets.
func (s *suite) expect(t *testing.T, c testCase) response {
	t.Helper()
	got := s.send(t, c)
	if c.gateway && got.StatusCode == http.StatusBadRequest && got.Header.Get("Server") != "" {
		return got
	}
	status, code, _ := strings.Cut(c.want, " ")
	if fmt.Sprint(got.StatusCode) != status {
		got.assert(t, false, "got %.200s, want the status %s", got.body, status)
		return got
	}
	got.checkHeader(t, c.header)
	if got.Request.Method == http.MethodHead {
		return got
	}
	text := got.body
	if code != "" {
		e, _ := got.value.(object) // check reports another body
		text, _ = e["message"].(string)
		got.assert(t, e["code"] == code, "code: got %v, want %s", e["code"], code)
	}
	for word := range strings.FieldsSeq(c.says) {
		got.assert(t, strings.Contains(text, word), "got %.300q, want %q in it", text, word)
	}
	got.assert(t, c.same == "" || got.body == c.same, "body: got %d bytes, want %d, or others", len(got.body), len(c.same))
	if rest, isGet := strings.CutPrefix(c.send, http.MethodGet); isGet {
		c.send = http.MethodHead + rest
		s.expect(t, c)
	}
	return got
}

// response is the response to a request. Its body has been read.
type response struct {
	*http.Response
	sent  testCase
	route *routers.Route    // nil if the document has none
	ids   map[string]string // the identifiers in the path
	path  string
	body  string
	value any // of the body
}

// assert reports what is wrong with the response, unless ok.
func (got response) assert(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	what := fmt.Sprintf("%.150q %.80q: %d: ", got.sent.send, got.sent.body, got.StatusCode)
	assert(t, ok, "%s", what+fmt.Sprintf(format, args...))
}

func assert(t *testing.T, ok bool, format string, args ...any) {
	t.Helper()
	if !ok {
		t.Errorf(format, args...)
	}
}

// send sends a request and checks the response against the document.
func (s *suite) send(t *testing.T, c testCase) response {
	t.Helper()
	method, path, query := c.target()
	out, err := http.NewRequest(method, s.url, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	out.URL.Opaque, out.URL.RawQuery, out.URL.ForceQuery = path, query, strings.Contains(c.send, "?")
	for _, line := range strings.Split(c.send, "\n")[1:] {
		name, value, _ := strings.Cut(line, ":")
		out.Header.Add(name, strings.TrimPrefix(value, " "))
	}
	if out.Header["Content-Type"] == nil && c.body != "" {
		out.Header.Set("Content-Type", "application/json")
	}
	answer, err := s.client.Do(out)
	if err != nil {
		t.Fatalf("%.150q: got no response (%v)", c.send, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%.150q: got an incomplete response (%v)", c.send, err)
	}
	r, ids := s.route(c)
	got := response{answer, c, r, ids, path, string(body), bodyValue(answer.Header, string(body))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.check(t, got)
	return got
}

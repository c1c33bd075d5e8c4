// Package contract tests a running service against its OpenAPI document. The service may be at any
// address. Nobody else should write to it meanwhile, and the tests leave in it what they create.
//
//	(&contract.Suite{Document: document, URL: "http://127.0.0.1:8080/v1", Key: key, Cases: cases}).Test(t)
//
// Cases sends requests that only the service's author knows. check.go checks each response by itself, and
// effects.go a write by what can be read before and after it. document.go, access.go and lists.go test what
// can be read from the document. coverage.go names what no case has seen, and prints what was
// tested and what was not. A failure has the line of the check, and the request.
//
// A GET with the parameter "limit" is a list: of objects in an array or in the one array of an envelope. The next
// page is in the header Link, or in a property that a parameter takes: "next" for "cursor", or that x-cursor names.
// What a 202 began has ended once a property has a value that the extension x-final of its schema lists.
package contract

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// Suite is a service under test. Cases that need an optional key are left out if that key is empty.
type Suite struct {
	Document *openapi3.T
	URL      string // of the base path, such as http://127.0.0.1:8080/v1
	Realm    string // of challenges

	Key         string // may read and write
	OtherKey    string // optional, as are the others: a key like Key
	ReadOnlyKey string
	ExpiredKey  string
	RevokedKey  string
	UnknownKey  string // has the form of a key

	MaxBody int            // bytes of a request's body
	Leaks   *regexp.Regexp // what no message may contain, such as the form of a key; may be nil
	Cases   func(t *testing.T, s *Suite)

	// Unpromised has a reason for each thing that an operation need not do, or that the suite need not test, in the
	// words of a failure: "createBook answer" if its answer may differ from the next read, or "getBook .title" if it
	// may show another title than was sent. A reason that no failure needs is a failure.
	Unpromised map[string]string

	base       string // the path of URL, /v1
	client     *http.Client
	operations []*routers.Route // all of the document
	failures   map[string]int   // by format
	history
}

// Test runs all tests against the service.
func (s *Suite) Test(t *testing.T) {
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	s.base = base.Path
	for _, path := range s.Document.Paths.InMatchingOrder() {
		item := s.Document.Paths.Value(path)
		for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
			s.operations = append(s.operations, &routers.Route{
				Spec: s.Document, Path: s.base + path, PathItem: item, Method: method, Operation: item.GetOperation(method),
			})
		}
	}
	s.failures = map[string]int{}
	s.history = history{
		seen: map[string]bool{}, first: map[string]string{}, queries: map[string][]string{},
		accepted: map[string]string{}, ends: map[string]string{},
	}
	s.client = &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true},
	}
	if target := s.readable(); target != "" {
		s.reach(t, target)
		t.Run("Authentication", func(t *testing.T) { s.authentication(t, target) })
	}
	t.Run("Cases", func(t *testing.T) { s.Cases(t, s) })
	t.Run("Methods", s.methods)
	t.Run("Parameters", s.parameters)
	t.Run("Bodies", s.bodies)
	t.Run("Lists", s.lists)
	t.Run("Coverage", s.coverage) // of the tests before it
}

// Case is a request and the response that it must get. Empty fields are not compared.
type Case struct {
	Send  string // METHOD TARGET, then lines of the header; the target is sent unchanged
	Body  string // JSON if the header does not say otherwise
	NoKey bool   // do not send the key

	Want   string // the status, and the code of the Error body
	Says   string // words that the message of an error, or the body of a success, must have
	Same   string // the whole body
	Header string // lines that the header must have, their values as regular expressions

	Gateway bool // a gateway, which names itself in Server, may refuse the request with a 400
}

// with returns c with another line of the header.
func (c Case) with(line string) Case {
	c.Send += "\n" + line
	return c
}

// target returns the method, the path and the query.
func (c Case) target() (method, path, query string) {
	line, _, _ := strings.Cut(c.Send, "\n")
	method, target, _ := strings.Cut(line, " ")
	path, query, _ = strings.Cut(target, "?")
	return method, path, query
}

// object is a JSON object, with numbers as written.
type object = map[string]any

func bearer(key string) string { return "Authorization: Bearer " + key }

// Try tests a case, that its operation needs a key, and what it changes. A client with the response gets a 304.
func (s *Suite) Try(t *testing.T, c Case) Response {
	r, ids := s.route(c)
	if !c.NoKey {
		if r != nil {
			s.needsKey(t, c, r)
		}
		c = c.with(bearer(s.Key))
	}
	if r != nil {
		s.otherIdentifiers(t, c, r, ids)
		if r.Method != http.MethodGet {
			return s.write(t, c, r)
		}
	}
	got := s.Expect(t, c)
	if tag := got.Header.Get("ETag"); tag != "" && (r == nil || r.Operation.Responses.Status(http.StatusNotModified) != nil) {
		s.Expect(t, c.with(`If-None-Match: "another"`))
		s.Expect(t, Case{Send: c.with("If-None-Match: " + tag).Send, Want: "304"})
	}
	return got
}

// needsKey tests a case without a key, unless its operation is public, and with a key that may only read.
func (s *Suite) needsKey(t *testing.T, c Case, r *routers.Route) {
	if !needsNoKey(r) {
		s.Expect(t, Case{Send: c.Send, Body: c.Body, Want: "401 unauthorized", Header: s.noCredentials()})
	} else if r.Method == http.MethodGet {
		s.Expect(t, c)
	}
	if s.ReadOnlyKey == "" {
		return
	}
	reader := c.with(bearer(s.ReadOnlyKey))
	if r.Method != http.MethodGet {
		reader = Case{Send: reader.Send, Body: c.Body, Want: "403 forbidden"}
	}
	s.Expect(t, reader)
}

// Expect sends the request of a case and compares the response. HEAD gets what GET gets.
func (s *Suite) Expect(t *testing.T, c Case) Response {
	got := s.send(t, c)
	if c.Gateway && got.StatusCode == http.StatusBadRequest && got.Header.Get("Server") != "" {
		return got
	}
	status, code, _ := strings.Cut(c.Want, " ")
	if status != "" && fmt.Sprint(got.StatusCode) != status {
		got.Assert(t, false, "got %.200s, want the status %s", got.Body, status)
		return got
	}
	got.CheckHeader(t, c.Header)
	if got.Request.Method == http.MethodHead {
		return got
	}
	text := got.Body
	if code != "" {
		e, _ := got.value.(object) // check reports another body
		text, _ = e["message"].(string)
		got.Assert(t, e["code"] == code, "code: got %v, want %s", e["code"], code)
	}
	for _, word := range strings.Fields(c.Says) {
		got.Assert(t, strings.Contains(text, word), "got %.300q, want %q in it", text, word)
	}
	got.Assert(t, c.Same == "" || got.Body == c.Same, "body: %s", difference(got.Body, c.Same))
	if rest, isGet := strings.CutPrefix(c.Send, http.MethodGet); isGet {
		c.Send = http.MethodHead + rest
		s.Expect(t, c)
	}
	return got
}

// Response is the response to a request. Its body has been read.
type Response struct {
	*http.Response
	suite *Suite
	sent  Case
	route *routers.Route    // nil if the document has none
	ids   map[string]string // the identifiers in the path
	path  string
	Body  string
	value any   // of the body
	err   error // why there is no response, or only a part of it
}

// send sends a request and checks the response against the document.
func (s *Suite) send(t *testing.T, c Case) Response { return s.check(t, s.do(c)) }

// do sends a request and reads the response.
func (s *Suite) do(c Case) (got Response) {
	method, path, query := c.target()
	got = Response{suite: s, sent: c, path: path}
	got.route, got.ids = s.route(c)
	out, err := http.NewRequest(method, s.URL, strings.NewReader(c.Body))
	if err != nil {
		got.err = err
		return got
	}
	out.URL.Opaque, out.URL.RawQuery, out.URL.ForceQuery = path, query, strings.Contains(c.Send, "?")
	for _, line := range strings.Split(c.Send, "\n")[1:] {
		name, value, _ := strings.Cut(line, ":")
		out.Header.Add(name, strings.TrimPrefix(value, " "))
	}
	if out.Header["Content-Type"] == nil && c.Body != "" {
		out.Header.Set("Content-Type", "application/json")
	}
	if got.Response, got.err = s.client.Do(out); got.err != nil {
		return got
	}
	defer got.Response.Body.Close()
	body, err := io.ReadAll(got.Response.Body)
	got.Body, got.value, got.err = string(body), bodyValue(got.Header, string(body)), err
	return got
}

// Once sends eight requests at once, with bodies from body: one must succeed, and the others get the status refused.
func (s *Suite) Once(t *testing.T, send string, refused int, body func() string) {
	var statuses []int
	for _, got := range s.atOnce(t, send+"\n"+bearer(s.Key), body) {
		statuses = append(statuses, got.StatusCode)
	}
	slices.Sort(statuses)
	ok := statuses[0] < 300 && statuses[1] == refused && statuses[7] == refused
	s.Assert(t, ok, "%.150q at once: got %v, want one success and %d", send, statuses, refused)
}

// atOnce sends a request eight times at once.
func (s *Suite) atOnce(t *testing.T, send string, body func() string) []Response {
	all := make([]Response, 8)
	var wg sync.WaitGroup
	for i := range all {
		c := Case{Send: send, Body: body()}
		wg.Go(func() { all[i] = s.do(c) })
	}
	wg.Wait()
	for _, got := range all {
		s.check(t, got)
	}
	return all
}

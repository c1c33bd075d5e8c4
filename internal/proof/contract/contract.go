// Package contract tests a running service against openapi.yaml: tables of
// requests with the responses that the document promises, and sequences of
// several requests. The service may be at any address and in use by others; the
// tests leave about 100 pets in it. Package edge has the spellings of parameters and
// bodies that are refused in any operation.
package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Server is the service under test. Cases that need an optional key are skipped
// if that key is empty.
type Server struct {
	URL string // for example http://127.0.0.1:8080/v1
	Key string // a key that may read and add pets

	OtherKey    string // another such key
	ReadOnlyKey string // a key that may only read
	ExpiredKey  string
	RevokedKey  string
}

// Run runs all cases against the service.
func Run(t *testing.T, server Server) {
	s, err := newSuite(server)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) {
			g.run(s, testRunner{t})
		})
	}
	t.Run("Coverage", func(t *testing.T) { s.coverage(testRunner{t}) })
}

// groups lists the parts of the contract in the order in which Run tests them.
var groups = []struct {
	name string
	run  func(*suite, runner)
}{
	{"EveryOperation", (*suite).everyOperation},
	{"Limit", (*suite).limit},
	{"Query", (*suite).query},
	{"PetID", (*suite).petID},
	{"InvalidBody", (*suite).invalidBody},
	{"ValidBody", (*suite).validBody},
	{"MediaType", (*suite).mediaType},
	{"Authentication", (*suite).authentication},
	{"UnknownPath", (*suite).unknownPath},
	{"Method", (*suite).method},
	{"Head", (*suite).head},
	{"Accept", (*suite).accept},
	{"RequestID", (*suite).requestID},
	{"Writes", (*suite).writes},
	{"Paging", (*suite).paging},
	{"IdempotencyKey", (*suite).idempotencyKey},
	{"Retry", (*suite).retry},
	{"Beside", (*suite).beside},
	{"Root", (*suite).root},
}

// runner runs the cases of a group. It wraps a *testing.T, or it is the collector
// with which the cases themselves are tested.
type runner interface {
	Run(name string, f func(reporter))
	reporter
}

// reporter reports errors in one case.
type reporter interface {
	Errorf(format string, args ...any)
}

type testRunner struct{ *testing.T }

func (r testRunner) Run(name string, f func(reporter)) {
	r.T.Run(name, func(t *testing.T) { f(t) })
}

// suite is a server with what its cases share.
type suite struct {
	Server
	origin *url.URL
	base   string // the path of URL, /v1
	client *http.Client
	judge  *judge
}

func newSuite(server Server) (*suite, error) {
	u, err := url.Parse(server.URL)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("URL: got %q, want an address such as http://127.0.0.1:8080/v1", server.URL)
	}
	j := newJudge()
	base := strings.TrimSuffix(u.Path, "/")
	if base != j.base {
		return nil, fmt.Errorf("URL: got %q, want it to end in %s", server.URL, j.base)
	}
	return &suite{
		Server: server,
		origin: &url.URL{Scheme: u.Scheme, Host: u.Host},
		base:   base,
		judge:  j,
		client: &http.Client{
			Timeout:       30 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true},
		},
	}, nil
}

// request is one request of a case.
type request struct {
	method string
	target string   // path and query, sent unchanged
	header []string // lines such as "Name: value"
	body   string
}

func (r request) String() string {
	return fmt.Sprintf("%s %.80s", r.method, r.target)
}

// with returns r with more header lines.
func (r request) with(header ...string) request {
	r.header = slices.Concat(r.header, header)
	return r
}

const jsonType = "Content-Type: application/json"

func (s *suite) auth() string { return "Authorization: Bearer " + s.Key }

// get returns a GET request for a path below the base, with the key.
func (s *suite) get(target string, header ...string) request {
	return request{method: http.MethodGet, target: s.base + target, header: append(header, s.auth())}
}

// post returns a request that adds the pet in body.
func (s *suite) post(body string, header ...string) request {
	return request{method: http.MethodPost, target: s.base + "/pets", header: append(header, s.auth(), jsonType), body: body}
}

// response is a response whose body has been read.
type response struct {
	*http.Response
	body []byte
}

// send sends r and lets the judge check the response. If there is none, it
// reports why and returns a response with status 0.
func (s *suite) send(t reporter, r request) response {
	path, query, hasQuery := strings.Cut(r.target, "?")
	out := &http.Request{
		Method: r.method,
		URL:    &url.URL{Scheme: s.origin.Scheme, Host: s.origin.Host, Opaque: path, RawQuery: query, ForceQuery: hasQuery},
		Host:   s.origin.Host,
		Header: http.Header{},
	}
	for _, line := range r.header {
		name, value, _ := strings.Cut(line, ":")
		out.Header.Add(name, strings.TrimPrefix(value, " "))
	}
	if r.body != "" {
		out.Body, out.ContentLength = io.NopCloser(strings.NewReader(r.body)), int64(len(r.body))
	}
	none := response{Response: &http.Response{Header: http.Header{}}}
	got, err := s.client.Do(out)
	if err != nil {
		t.Errorf("%v: got no response (%v)", r, err)
		return none
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Errorf("%v: got an incomplete response (%v)", r, err)
		return none
	}
	for _, wrong := range s.judge.check(r, got, body) {
		t.Errorf("%v: %d: %s", r, got.StatusCode, wrong)
	}
	return response{got, body}
}

// want describes the expected response. Empty fields are not compared.
type want struct {
	status  int
	code    string            // of the Error body
	message string            // a regular expression
	header  map[string]string // regular expressions by name; "" means absent
}

// expect sends r and compares the response with want.
func (s *suite) expect(t reporter, r request, w want) response {
	got := s.send(t, r)
	if got.StatusCode == 0 {
		return got
	}
	if got.StatusCode != w.status {
		t.Errorf("%v: status: got %d %.200s, want %d", r, got.StatusCode, got.body, w.status)
		return got
	}
	var e struct{ Code, Message string }
	if w.code != "" && r.method != http.MethodHead {
		_ = json.Unmarshal(got.body, &e) // the judge reports invalid JSON
		if e.Code != w.code {
			t.Errorf("%v: code: got %q, want %q", r, e.Code, w.code)
		}
		if !regexp.MustCompile(w.message).MatchString(e.Message) {
			t.Errorf("%v: message: got %q, want %q in it", r, e.Message, w.message)
		}
	}
	for name, pattern := range w.header {
		values := got.Header.Values(name)
		switch {
		case pattern == "" && len(values) > 0:
			t.Errorf("%v: %s: got %q, want none", r, name, values)
		case pattern != "" && (len(values) != 1 || !regexp.MustCompile(pattern).MatchString(values[0])):
			t.Errorf("%v: %s: got %q, want one that matches %s", r, name, values, pattern)
		}
	}
	return got
}

// pet is a Pet as clients see it.
type pet struct {
	ID         int64
	Name       string
	CategoryID int64 `json:"categoryId"`
	Status     string
}

// create adds the pet in body and returns it, or reports why it cannot.
func (s *suite) create(t reporter, body string, header ...string) (pet, response) {
	got := s.expect(t, s.post(body, header...), want{status: http.StatusCreated})
	var p pet
	if got.StatusCode == http.StatusCreated {
		if err := json.Unmarshal(got.body, &p); err != nil {
			t.Errorf("body: got %.200s (%v), want a Pet", got.body, err)
		}
	}
	return p, got
}

// list returns the pets of a page and the query of the link to the next page.
func (s *suite) list(t reporter, query string) (page []pet, next string) {
	r := s.get("/pets" + query)
	got := s.expect(t, r, want{status: http.StatusOK})
	if err := json.Unmarshal(got.body, &page); err != nil && got.StatusCode == http.StatusOK {
		t.Errorf("%v: got %.200s (%v), want an array of Pet", r, got.body, err)
	}
	link := got.Header.Get("Link")
	if link == "" {
		return page, ""
	}
	m := regexp.MustCompile(`^<([^<>]+)>; rel="next"$`).FindStringSubmatch(link)
	if m == nil {
		t.Errorf("%v: Link: got %s, want one with rel=\"next\"", r, link)
		return page, ""
	}
	target, err := s.origin.Parse(m[1])
	if err != nil || target.Path != s.base+"/pets" {
		t.Errorf("%v: Link: got %s, want one to %s/pets", r, link, s.base)
		return page, ""
	}
	return page, "?" + target.RawQuery
}

// same reports whether two JSON texts have the same values.
func same(a, b []byte) bool {
	var x, y bytes.Buffer
	return cmp.Or(json.Compact(&x, a), json.Compact(&y, b)) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

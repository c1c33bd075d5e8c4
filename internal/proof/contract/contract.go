// Package contract tests a running service against openapi.yaml: tables of
// requests with the responses that the document promises, and sequences of
// several requests. The service may be at any address. Nobody else
// should write to it meanwhile, and the tests leave some hundred pets in it.
package contract

import (
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

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/example"
)

// Server is the service under test. Cases that need an optional key are left out
// if that key is empty.
type Server struct {
	URL     string // for example http://127.0.0.1:8080/v1
	Address string // what the served document says of it
	Key     string // a key that may read and add pets

	OtherKey    string // another such key
	ReadOnlyKey string // a key that may only read
	ExpiredKey  string
	RevokedKey  string
}

// groups lists the parts of the contract in the order in which they are tested.
var groups = []struct {
	name string
	run  func(*suite, *testing.T)
}{
	{"EveryOperation", table((*suite).everyOperation)},
	{"Methods", (*suite).everyMethod},
	{"Headers", table((*suite).headers)},
	{"Paths", table((*suite).paths)},
	{"Authentication", table((*suite).authentication)},
	{"Writes", (*suite).writes},
	{"Lists", (*suite).lists},
	{"Retry", (*suite).retry},
	{"Coverage", (*suite).coverage},
}

// T is what the checks need of a *testing.T or a *rapid.T.
type T interface {
	Errorf(format string, args ...any)
}

// suite is a server with what its cases share.
type suite struct {
	Server
	origin   *url.URL
	base     string // the path of URL, /v1
	client   *http.Client
	document *openapi3.T

	operations  []operation
	collections []*collection
	added       []*stored

	codes map[string][]string // the codes of Error bodies, by status
	seen  map[string]bool     // operation and status of each response, as in "getPet 404", and identifiers of requests
}

func newSuite(t *testing.T, server Server) *suite {
	t.Helper()
	document, base := example.Document(), example.Base()
	u, err := url.Parse(server.URL)
	if err != nil || strings.TrimSuffix(u.Path, "/") != base {
		t.Fatalf("URL: got %q, want an address such as http://127.0.0.1:8080%s", server.URL, base)
	}
	s := &suite{
		Server:     server,
		origin:     u,
		base:       base,
		document:   document,
		operations: operations(document),
		codes:      map[string][]string{},
		seen:       map[string]bool{},
		client: &http.Client{
			Timeout:       30 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport:     &http.Transport{DisableCompression: true, ForceAttemptHTTP2: true},
		},
	}
	s.collections = s.newCollections()
	codes := regexp.MustCompile("(?m)^\\| ([0-9]{3}) `([a-z_]+)` \\|")
	for _, tag := range document.Tags {
		for _, row := range codes.FindAllStringSubmatch(tag.Description, -1) {
			s.codes[row[1]] = append(s.codes[row[1]], row[2])
		}
	}
	return s
}

// run runs all cases against the service.
func (s *suite) run(t *testing.T) {
	for _, g := range groups {
		t.Run(g.name, func(t *testing.T) { g.run(s, t) })
	}
}

// request is one request of a case.
type request struct {
	method string
	target string   // path and query, sent unchanged
	header []string // lines such as "Name: value"
	body   string
}

func (r request) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %.80s %.80s", r.method, r.target, r.body))
}

// with returns r with more header lines.
func (r request) with(header ...string) request {
	r.header = slices.Concat(r.header, header)
	return r
}

func bearer(key string) string { return "Authorization: Bearer " + key }

// get returns a GET request for a path below the base, with the key.
func (s *suite) get(target string, header ...string) request {
	return request{method: http.MethodGet, target: s.base + target, header: append(header, bearer(s.Key))}
}

// response is a response whose body has been read.
type response struct {
	*http.Response
	body []byte
}

// send sends r and checks the response against the document. If there is none, it
// reports why and returns a response with status 0.
func (s *suite) send(t T, r request) response {
	none := response{Response: &http.Response{Header: http.Header{}}}
	out, err := http.NewRequest(r.method, s.origin.String(), strings.NewReader(r.body))
	if err != nil {
		t.Errorf("%v: %v", r, err)
		return none
	}
	out.URL.Opaque, out.URL.RawQuery, out.URL.ForceQuery = strings.Cut(r.target, "?")
	for _, line := range r.header {
		name, value, _ := strings.Cut(line, ":")
		out.Header.Add(name, strings.TrimPrefix(value, " "))
	}
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
	s.check(t, r, response{got, body})
	return response{got, body}
}

// want describes the expected response. Empty fields are not compared.
type want struct {
	status  int
	code    string            // of the Error body
	message string            // a regular expression
	body    string            // a part of the body
	header  map[string]string // regular expressions by name; "" means absent

	malformed bool // a gateway, which names itself in Server, may refuse the request with a 400
}

// expect sends r and compares the response with want.
func (s *suite) expect(t T, r request, w want) response {
	got := s.send(t, r)
	if got.StatusCode == 0 {
		return got
	}
	if w.malformed && got.StatusCode == http.StatusBadRequest && got.Header.Get("Server") != "" {
		w = want{status: http.StatusBadRequest, code: "invalid_request"}
	}
	if got.StatusCode != w.status {
		t.Errorf("%v: status: got %d %.200s, want %d", r, got.StatusCode, got.body, w.status)
		return got
	}
	if r.method != http.MethodHead {
		var e struct{ Code, Message string }
		_ = json.Unmarshal(got.body, &e) // check reports invalid JSON
		if w.code != "" && e.Code != w.code {
			t.Errorf("%v: code: got %q, want %q", r, e.Code, w.code)
		}
		if !regexp.MustCompile(w.message).MatchString(e.Message) {
			t.Errorf("%v: message: got %q, want %q in it", r, e.Message, w.message)
		}
		if !strings.Contains(string(got.body), w.body) {
			t.Errorf("%v: body: got %.200q, want %.200q in it", r, got.body, w.body)
		}
	}
	checkHeader(t, r, got, w.header)
	return got
}

// checkHeader compares the header with regular expressions by name, "" for absent.
func checkHeader(t T, r request, got response, want map[string]string) {
	for name, pattern := range want {
		values := got.Header.Values(name)
		switch {
		case pattern == "" && len(values) > 0:
			t.Errorf("%v: %d: %s: got %q, want none", r, got.StatusCode, name, values)
		case pattern != "" && (len(values) != 1 || !regexp.MustCompile(pattern).MatchString(values[0])):
			t.Errorf("%v: %d: %s: got %q, want one that matches %s", r, got.StatusCode, name, values, pattern)
		}
	}
}

// row is a request and what it gets.
type row struct {
	name    string // the request itself if empty
	request request
	want    want
}

// table returns a test of the rows that of returns. HEAD gets what GET gets, and a
// client that has the response already gets a 304.
func table(of func(*suite) []row) func(*suite, *testing.T) {
	return func(s *suite, t *testing.T) {
		for _, r := range of(s) {
			t.Run(cmp.Or(r.name, r.request.String()), func(t *testing.T) {
				got := s.expect(t, r.request, r.want)
				if tag := got.Header.Get("ETag"); tag != "" {
					s.expect(t, r.request.with("If-None-Match: "+tag), want{status: http.StatusNotModified})
					s.expect(t, r.request.with(`If-None-Match: "another"`), r.want)
				}
				if r.request.method == http.MethodGet {
					r.request.method = http.MethodHead
					s.expect(t, r.request, r.want)
				}
			})
		}
	}
}

// Package contract tests a running service against openapi.yaml: requests with the
// responses that the document promises, and sequences of several requests. The service
// may be at any address. Nobody else should write to it meanwhile, and the tests leave
// some hundred pets in it.
package contract

import (
	"cmp"
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

	"example.com/petstore/internal/example"
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
	{"EveryOperation", (*suite).everyOperation},
	{"Methods", (*suite).methods},
	{"Headers", (*suite).headers},
	{"Paths", (*suite).paths},
	{"Authentication", (*suite).authentication},
	{"Writes", (*suite).writes},
	{"Lists", (*suite).lists},
	{"Retry", (*suite).retry},
	{"Coverage", (*suite).coverage},
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

	docs  bool                // there is a page at /docs
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
	s.docs = s.send(t, request{method: "GET", target: "/docs"}).StatusCode != http.StatusNotFound
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

// withBody returns r with another body, v as JSON.
func (r request) withBody(v any) request {
	r.body = encode(v)
	return r
}

func bearer(key string) string { return "Authorization: Bearer " + key }

// response is the response to a request. Its body has been read.
type response struct {
	*http.Response
	request request
	body    string
}

// errorf reports what is wrong with the response.
func (got response) errorf(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Errorf("%v: %d: %s", got.request, got.StatusCode, fmt.Sprintf(format, args...))
}

// send sends r and checks the response against the document.
func (s *suite) send(t *testing.T, r request) response {
	t.Helper()
	out, err := http.NewRequest(r.method, s.origin.String(), strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	out.URL.Opaque, out.URL.RawQuery, out.URL.ForceQuery = strings.Cut(r.target, "?")
	for _, line := range r.header {
		name, value, _ := strings.Cut(line, ":")
		out.Header.Add(name, strings.TrimPrefix(value, " "))
	}
	answer, err := s.client.Do(out)
	if err != nil {
		t.Fatalf("%v: got no response (%v)", r, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%v: got an incomplete response (%v)", r, err)
	}
	got := response{answer, r, string(body)}
	s.check(t, got)
	return got
}

// want describes the expected response. Empty fields are not compared.
type want struct {
	status  int               // any success if it is 0
	code    string            // of the Error body, if the status has several
	message string            // a regular expression
	body    string            // a part of the body
	header  map[string]string // regular expressions by name; "" means absent

	malformed bool // a gateway, which names itself in Server, may refuse the request with a 400
}

// expect sends r and compares the response with want.
func (s *suite) expect(t *testing.T, r request, w want) response {
	t.Helper()
	got := s.send(t, r)
	if w.malformed && got.StatusCode == http.StatusBadRequest && got.Header.Get("Server") != "" {
		w = want{status: http.StatusBadRequest, code: "invalid_request"}
	}
	if got.StatusCode != w.status && (w.status != 0 || got.StatusCode/100 != 2) {
		got.errorf(t, "got %.200s, want the status %d, or a success if it is 0", got.body, w.status)
		return got
	}
	got.checkHeader(t, w.header)
	if r.method != http.MethodHead {
		e, _ := decode(got.body).(map[string]any) // check reports invalid JSON
		if w.code != "" && e["code"] != w.code {
			got.errorf(t, "code: got %q, want %q", e["code"], w.code)
		}
		if m, _ := e["message"].(string); !regexp.MustCompile(w.message).MatchString(m) {
			got.errorf(t, "message: got %q, want %q in it", m, w.message)
		}
		if !strings.Contains(got.body, w.body) {
			got.errorf(t, "body: got %.200q, want %.200q in it", got.body, w.body)
		}
	}
	return got
}

// try tests what a request gets. HEAD gets what GET gets, and a client that has the
// response already gets a 304.
func (s *suite) try(t *testing.T, name string, r request, w want) {
	t.Run(cmp.Or(name, r.String()), func(t *testing.T) {
		got := s.expect(t, r, w)
		if tag := got.Header.Get("ETag"); tag != "" {
			s.expect(t, r.with("If-None-Match: "+tag), want{status: http.StatusNotModified})
			s.expect(t, r.with(`If-None-Match: "another"`), w)
		}
		if r.method == http.MethodGet {
			r.method = http.MethodHead
			s.expect(t, r, w)
		}
	})
}

package docs_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/edge/docs"
)

// books is a document with a description, a deprecated operation and no tags.
const books = `openapi: 3.0.3
info: {title: Books, version: 1.0.0, description: "Books by their number.\n\n### Numbers\nThey are whole."}
servers: [{url: /v1}]
paths:
  /books/{id}:
    get:
      operationId: getBook
      deprecated: true
      x-sunset: '2030-12-05'
      x-deprecated-reason: Ask a person instead.
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses: {'200': {description: the book}}
`

// site returns the handlers of a service with that public address.
func site(t testing.TB, public string) map[string]http.Handler {
	t.Helper()
	s, err := docs.New(docs.Page{Document: []byte(books), JSON: []byte("{}"), Base: "/v1", Public: public})
	if err != nil {
		t.Fatal(err)
	}
	handlers, err := s.Handlers()
	if err != nil {
		t.Fatal(err)
	}
	return handlers
}

// response is a response with its body read.
type response struct {
	*http.Response
	body []byte
}

// send sends a request with header fields as they stand in one: Name: value.
func send(t testing.TB, h http.Handler, method, path string, fields ...string) response {
	t.Helper()
	if h == nil {
		t.Fatalf("%s: got no handler, want one", path)
	}
	r := httptest.NewRequest(method, path, nil)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return response{w.Result(), w.Body.Bytes()}
}

// asset finds the names that change with the content.
var asset = regexp.MustCompile(`^/docs/[a-z]+-[0-9a-f]{12}\.[a-z]+$`)

func TestEveryFileIsServedWithItsLengthAndItsTag(t *testing.T) {
	for path, h := range site(t, "") {
		want := send(t, h, "GET", path)
		cache := "no-cache"
		if asset.MatchString(path) {
			cache = "public, max-age=31536000, immutable"
		}
		for _, accept := range []string{"identity", "gzip"} {
			for _, method := range []string{"GET", "HEAD"} {
				got := send(t, h, method, path, "Accept-Encoding: "+accept)
				if got.StatusCode != 200 || got.Header.Get("Cache-Control") != cache {
					t.Errorf("%s %s: got %d with Cache-Control %q, want 200 with %q", method, path, got.StatusCode, got.Header.Get("Cache-Control"), cache)
				}
				body := got.body
				if method == "HEAD" {
					if len(body) > 0 {
						t.Errorf("HEAD %s: got %d bytes, want none", path, len(body))
					}
					body = send(t, h, "GET", path, "Accept-Encoding: "+accept).body
				}
				if length := got.Header.Get("Content-Length"); length != strconv.Itoa(len(body)) {
					t.Errorf("%s %s, %s: got Content-Length %q, want %d", method, path, accept, length, len(body))
				}
				if plain := unzipped(t, got.Header, body); !bytes.Equal(plain, want.body) {
					t.Errorf("%s %s, %s: got %d bytes, want the same %d", method, path, accept, len(plain), len(want.body))
				}
				again := send(t, h, method, path, "Accept-Encoding: "+accept, `If-None-Match: "x", W/`+got.Header.Get("ETag"))
				if again.StatusCode != 304 || len(again.body) > 0 || again.Header.Get("ETag") != got.Header.Get("ETag") {
					t.Errorf("%s %s again, %s: got %d with %d bytes, want 304 with none and the same tag", method, path, accept, again.StatusCode, len(again.body))
				}
			}
		}
	}
}

// unzipped returns the bytes of a compressed body.
func unzipped(t *testing.T, h http.Header, body []byte) []byte {
	t.Helper()
	if h.Get("Content-Encoding") != "gzip" {
		return body
	}
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// bundle returns the path of Scalar's bundle, the largest file.
func bundle(t testing.TB, handlers map[string]http.Handler) string {
	t.Helper()
	for path := range handlers {
		if strings.HasPrefix(path, "/docs/scalar-") {
			return path
		}
	}
	t.Fatal("the bundle: got none, want one")
	return ""
}

// TestTheBundleCostsNoMoreThanACopy counts the allocations of a response: the
// bundle has 3.5 MB, and decompressing it for every client took 9 ms of one.
func TestTheBundleCostsNoMoreThanACopy(t *testing.T) {
	handlers := site(t, "")
	path := bundle(t, handlers)
	for _, method := range []string{"GET", "HEAD"} {
		for _, accept := range []string{"identity", "gzip"} {
			r := httptest.NewRequest(method, path, nil)
			r.Header.Set("Accept-Encoding", accept)
			w := &discarded{header: http.Header{}}
			handlers[path].ServeHTTP(w, r) // the first one decompresses
			allocations := testing.AllocsPerRun(100, func() {
				clear(w.header)
				handlers[path].ServeHTTP(w, r)
			})
			if allocations > 8 {
				t.Errorf("%s with Accept-Encoding %s: got %v allocations, want 8 at most", method, accept, allocations)
			}
			if method == "HEAD" && w.written > 0 {
				t.Errorf("HEAD with Accept-Encoding %s: got %d bytes written, want none", accept, w.written)
			}
		}
	}
}

// discarded takes a response and keeps nothing of its body but the size.
type discarded struct {
	header  http.Header
	written int
}

func (d *discarded) Header() http.Header { return d.header }
func (d *discarded) WriteHeader(int)     {}
func (d *discarded) Write(b []byte) (int, error) {
	d.written += len(b)
	return len(b), nil
}

func TestFilesAreSentCompressedToClientsThatReadIt(t *testing.T) {
	handlers := site(t, "")
	path := bundle(t, handlers)
	for coding, want := range map[string]bool{
		"gzip": true, "GZIP": true, "br, gzip": true, "br,gzip;q=0.1": true, "deflate, gzip; q=1.0": true,
		"": false, "identity": false, "br": false, "gzip;q=0": false, "gzip; q=0.0": false, "xgzip": false,
	} {
		got := send(t, handlers[path], "HEAD", path, "Accept-Encoding: "+coding)
		if zipped := got.Header.Get("Content-Encoding") == "gzip"; zipped != want || got.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: got compressed %t and Vary %q, want %t and Accept-Encoding", coding, zipped, got.Header.Get("Vary"), want)
		}
	}
	plain, zipped := send(t, handlers[path], "HEAD", path), send(t, handlers[path], "HEAD", path, "Accept-Encoding: gzip")
	if plain.Header.Get("ETag") == zipped.Header.Get("ETag") {
		t.Errorf("ETag of both codings: got %s, want another one for each", plain.Header.Get("ETag"))
	}
}

func TestThePageIsUnderAStrictPolicy(t *testing.T) {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for path, h := range site(t, "") {
		if !strings.HasPrefix(path, "/docs") {
			continue
		}
		got := send(t, h, "GET", path).Header
		if got.Get("Content-Security-Policy") != policy || got.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: got the policy %q and Referrer-Policy %q, want %q and no-referrer", path, got.Get("Content-Security-Policy"), got.Get("Referrer-Policy"), policy)
		}
	}
}

func TestThePageNamesFilesThatAreThereBelowAnyPath(t *testing.T) {
	handlers := site(t, "")
	for path, root := range map[string]string{"/docs": "", "/docs/": "../"} {
		page := string(send(t, handlers[path], "GET", path).body)
		names := regexp.MustCompile(`(?:href|src|data-document)="([^"]*)"`).FindAllStringSubmatch(page, -1)
		if len(names) != 7 {
			t.Errorf("names in %s: got %q, want the document three times, an icon, a stylesheet and two scripts", path, names)
		}
		for _, name := range names {
			rest, found := strings.CutPrefix(name[1], root)
			if _, there := handlers["/"+rest]; !found || !there {
				t.Errorf("%s: got the name %s, want one that begins with %q and leads to a file", path, name[1], root)
			}
		}
		if strings.Contains(page, "{{") || strings.Contains(page, "<style") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(page) {
			t.Errorf("%s: got %s, want every place filled and no script inside", path, page)
		}
	}
}

func TestThePageMaySendRequestsToThePublicAddressAndNoOther(t *testing.T) {
	for public, want := range map[string]struct{ connect, public string }{
		"":                                  {"connect-src 'self';", `data-public=""`},
		"https://api.example.com/v1":        {"connect-src 'self' https://api.example.com;", `data-public="https://api.example.com/v1"`},
		"http://127.0.0.1:99/shop/v1":       {"connect-src 'self' http://127.0.0.1:99;", `data-public="http://127.0.0.1:99/shop/v1"`},
		`https://api.example.com/"&<i>'/v1`: {"connect-src 'self' https://api.example.com;", `data-public="https://api.example.com/&#34;&amp;&lt;i&gt;&#39;/v1"`},
	} {
		got := send(t, site(t, public)["/docs"], "GET", "/docs")
		if policy := got.Header.Get("Content-Security-Policy"); !strings.Contains(policy, want.connect) {
			t.Errorf("policy with the address %s: got %s, want %s", public, policy, want.connect)
		}
		if !strings.Contains(string(got.body), want.public) {
			t.Errorf("page with the address %s: got %s, want %s", public, got.body, want.public)
		}
	}
	for _, public := range []string{"https://a;script-src b/v1", "https://a,b/v1", "http://%zz"} {
		if _, err := docs.New(docs.Page{Document: []byte(books), Public: public}); err == nil {
			t.Errorf("the address %s: got no error, want one", public)
		}
	}
}

func TestTheBundleIsThePinnedOneAndItsTermsComeAlong(t *testing.T) {
	data, err := os.ReadFile("ui/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Resolved string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	handlers := site(t, "")
	pinned := lock.Packages["node_modules/@scalar/api-reference"].Version
	code := send(t, handlers[bundle(t, handlers)], "GET", "/").body
	if pinned == "" || !bytes.Contains(code[:1000], []byte("@scalar/api-reference "+pinned+"\n")) {
		t.Errorf("scalar.js.gz: got another version than %q of package-lock.json: run make docs-ui", pinned)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("package-lock.json, %s: got the address %s, want none", name, p.Resolved)
		}
	}
	terms := string(send(t, handlers["/docs/LICENSES.txt"], "GET", "/").body)
	for _, name := range []string{"@scalar/api-reference", "vue", "@codemirror/view", "highlight.js", "zod"} {
		if !strings.Contains(terms, name) {
			t.Errorf("LICENSES.txt: got no %s, want every package of the bundle", name)
		}
	}
}

func TestNothingElseIsServed(t *testing.T) {
	for path := range site(t, "") {
		if !asset.MatchString(path) && !slices.Contains([]string{"/docs", "/docs/", "/docs/LICENSES.txt", "/openapi.yaml", "/openapi.json"}, path) {
			t.Errorf("paths: got %s, want it not to be served", path)
		}
	}
}

package edge

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"example.com/petstore/internal/fault"
	"example.com/petstore/internal/keys"
	"github.com/labstack/echo/v4"
)

//go:embed testdata/books.yaml
var books string

const (
	testKey  = "the-key-of-the-tests"
	readKey  = "a-key-that-may-read"
	oldKey   = "a-key-that-expired"
	brokeKey = "a-key-that-fails"
)

// book is the Go type of the schema Book.
type book struct {
	Title    string `json:"title"`
	Pages    *int64 `json:"pages"`
	Chapters []struct {
		Pages []int64 `json:"pages"`
	} `json:"chapters"`
}

// library is the service of books.yaml.
type library struct {
	document string
	routes   map[string]string           // operationIds, as in generated code
	handlers map[string]echo.HandlerFunc // by operationId, in place of sendTitle
	ready    func(context.Context) error
}

func newLibrary() *library {
	ready := func(context.Context) error { return nil }
	return &library{document: books, ready: ready, handlers: map[string]echo.HandlerFunc{}, routes: map[string]string{
		"GET /books": "listBooks", "POST /books": "addBook", "GET /books/:id": "getBook", `GET /books\:count`: "countBooks",
		"PUT /notes/:name/text": "setNote", "PATCH /notes/:name/text": "changeNote", "DELETE /notes/:name/text": "removeNote", "GET /version": "getVersion",
	}}
}

// sendTitle binds a parameter and a body as generated code does, and responds with the
// name in the path and the title in the body.
func sendTitle(c echo.Context) error {
	name := c.Param("name")
	if c.Request().URL.RawPath != "" {
		name, _ = url.PathUnescape(name)
	}
	var b book
	if err := c.Bind(&b); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return c.JSON(http.StatusOK, name+b.Title)
}

func (l *library) Register(e *echo.Echo, base string, m map[string][]echo.MiddlewareFunc) {
	for route, id := range l.routes {
		method, path, _ := strings.Cut(route, " ")
		handle := l.handlers[id]
		if handle == nil {
			handle = sendTitle
		}
		e.Add(method, base+path, handle, m[id]...)
	}
}

func (l *library) Authenticate(_ context.Context, key string) (keys.Key, error) {
	switch key {
	case oldKey:
		return keys.Key{ID: key}, &fault.Error{Kind: fault.Unauthorized, Reason: "expired", Message: "the API key has expired"}
	case brokeKey:
		return keys.Key{}, errors.New("no connection to the keys")
	}
	return keys.Key{ID: key, ReadOnly: key == readKey}, nil
}

var errTaken = &fault.Error{Kind: fault.IdempotencyKeyReused, Message: "the book is taken", Err: errors.New("taken")}

// testError is the schema Error.
type testError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

func (l *library) ErrorBody(code fault.Kind, message string, status int) any {
	return testError{string(code), message, status}
}
func (l *library) Ready(ctx context.Context) error { return l.ready(ctx) }

func (l *library) open(o Options) (*Handler, error) {
	document, err := ParseDocument([]byte(l.document), nil)
	if err != nil {
		return nil, err
	}
	return New(document, l, o)
}

// newHandler returns the handler of a library, modified by change, and its log.
func newHandler(t *testing.T, change func(*library, *Options)) (*Handler, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	l := newLibrary()
	o := Options{Name: "books", Docs: manual, Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(l, &o)
	}
	h, err := l.open(o)
	if err != nil {
		t.Fatal(err)
	}
	return h, &log
}

// manual is a documentation page.
var manual = Docs{
	Path:     "/manual",
	Files:    []File{{"/manual", "text/html", "img-src *", []byte("a book")}},
	Fragment: func(tags []string, operationID string) string { return tags[0] + "-" + operationID },
}

func newRequest(method, target, body string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	return withKey(r, testKey)
}

func withKey(r *http.Request, key string) *http.Request {
	r.Header.Set("Authorization", "Bearer "+key)
	return r
}

func get(path string) *http.Request { return newRequest("GET", path, "") }

func do(s http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// wantError checks the Error body of a response.
func wantError(t *testing.T, w *httptest.ResponseRecorder, status int, code, message string) {
	t.Helper()
	var got testError
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("body: got %q, want an Error", w.Body)
	}
	if want := (testError{code, message, status}); w.Code != status || got != want {
		t.Errorf("got status %d, %+v, want %+v", w.Code, got, want)
	}
	if got := w.Header().Get("Content-Length"); got != strconv.Itoa(w.Body.Len()) { // it is complete before the request's body is
		t.Errorf("Content-Length: got %q, want %d", got, w.Body.Len())
	}
}

func TestNewRefuses(t *testing.T) {
	const bearer, unwelcome = "{type: http, scheme: bearer}", "the security scheme bearer must be a bearer token"
	for name, test := range map[string]struct{ old, by, want string }{
		"an invalid document":        {"type: boolean", "type: bool", "bool"},
		"no servers":                 {"servers:", "x-servers:", "servers is missing"},
		"no operationId":             {"operationId: getBook", "summary: x", "operationId is missing"},
		"a key in a cookie":          {bearer, "{type: apiKey, in: cookie, name: k}", unwelcome},
		"a key that is optional":     {"security: [{bearer: []}]", "security: [{bearer: []}, {}]", "security must be one bearer scheme"},
		"security by nothing":        {"security: [{bearer: []}]", "security: [{}]", "security must be one bearer scheme"},
		"basic authentication":       {bearer, "{type: http, scheme: basic}", unwelcome},
		"another style":              {"level, in: query", "level, in: query, style: pipeDelimited", "the parameter level must be a string,"},
		"a cookie":                   {"X-Note, in: header", "X-Note, in: cookie", "the parameter X-Note must be a string,"},
		"an array in commas":         {"level, in: query", "level, in: query, explode: false", "the parameter level must be a string,"},
		"an object as a parameter":   {"sold, in: query, schema: {type: boolean}", "sold, in: query, schema: {type: object}", "the parameter sold must be a string,"},
		"a parameter without a type": {"items: {type: integer}", "items: {allOf: [{type: integer}]}", "the parameter level must be a string,"},
		"another media type":         {"application/json", "text/csv", "the body has [text/csv]"},
		"two media types":            {"requestBody: {content: {application/json: {schema", "requestBody: {content: {text/plain: {}, application/json: {schema", "the body has [application/json text/plain]"},
		"an invalid date":            {"'2030-12-05'", "'soon'", "needs x-sunset, a date"},
		"an unknown operationId":     {"operationId: getBook", "operationId: getTome", "differ in [GET /v1/books/:id]"},
		"another path":               {"/books/{id}:", "/tomes/{id}:", "differ in [GET /v1/books/:id GET /v1/tomes/:id]"},
	} {
		l := newLibrary()
		l.document = strings.Replace(books, test.old, test.by, 1)
		if _, err := l.open(Options{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, test.want)
		}
	}
}

// TestDocs checks the page at the public address and what leads to it: the Link of a
// deprecated operation, beside a Link of its own, / in a browser, and what a 404 says.
func TestDocs(t *testing.T) {
	const up = `</v1/books>; rel="up"`
	for public, url := range map[string]string{
		"": "/manual", "https://example.com/a%20b/v1": "https://example.com/a%20b/manual", "without a page": "",
	} {
		s, _ := newHandler(t, func(l *library, o *Options) {
			o.PublicURL = public
			if url == "" {
				o.Docs, o.PublicURL = Docs{}, ""
			}
			l.handlers["getBook"] = func(c echo.Context) error {
				c.Response().Header().Set("Link", up)
				return sendTitle(c)
			}
		})
		browser := get("/")
		browser.Header.Set("Accept", "text/html")
		_ = do(s, get("/v1/books/1")) // must not change the headers of the next response
		page, root, redirect := do(s, get("/manual")), do(s, get("/")), do(s, browser)
		got := fmt.Sprint(page.Code, page.Header()["Content-Security-Policy"], redirect.Code, redirect.Header()["Location"],
			do(s, get("/v1/books/1")).Header()["Link"], root.Code, strings.Contains(root.Body.String(), "/manual"))
		want := "200 [img-src *] 302 [" + url + "] [<" + url + `#books-getBook>; rel="deprecation"; type="text/html" ` + up + "] 404 true"
		if url == "" {
			want = "404 [] 404 [] [" + up + "] 404 false"
		}
		if got != want || url != "" && page.Body.String() != "a book" {
			t.Errorf("%q: got %s, %s, want %s", public, got, page.Body, want)
		}
	}
}

func TestHandlerFaults(t *testing.T) {
	const failed = "the service failed to answer; its log has the details"
	for name, test := range map[string]struct {
		handler echo.HandlerFunc
		status  int
		message string
		logged  string
	}{
		"panic":             {func(echo.Context) error { panic("a secret") }, 500, failed, "a secret"},
		"no response":       {func(echo.Context) error { return nil }, 500, failed, "neither a response nor an error"},
		"unknown error":     {func(echo.Context) error { return io.ErrUnexpectedEOF }, 500, failed, "unexpected EOF"},
		"an error of Echo":  {func(echo.Context) error { return fmt.Errorf("binding: %w", echo.NewHTTPError(400, "strconv")) }, 400, "a parameter has a value that cannot be read", ""},
		"Echo's not found":  {func(echo.Context) error { return fmt.Errorf("wrapped: %w", echo.ErrNotFound) }, 404, "there is nothing at this path; the operations are under /v1, and /manual describes them", ""},
		"a service's error": {func(echo.Context) error { return fmt.Errorf("wrapped: %w", errTaken) }, 422, "the book is taken", ""},
	} {
		s, log := newHandler(t, func(l *library, _ *Options) { l.handlers["listBooks"] = test.handler })
		w := do(s, get("/v1/books"))
		if w.Code != test.status || !strings.Contains(w.Body.String(), test.message) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: got %d, %s, want %d, %q", name, w.Code, w.Body, test.status, test.message)
		}
		if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), test.logged) {
			t.Errorf("%s: log: got %d lines, %s, want one with %q", name, lines, log, test.logged)
		}
	}
}

// TestOrigins checks which pages may read responses, whatever these are.
func TestOrigins(t *testing.T) {
	const app, headers = "https://app.example.com", "authorization,traceparent,baggage"
	s, _ := newHandler(t, func(_ *library, o *Options) { o.AllowOrigins = []string{"http://localhost:*", app} })
	for origin, allowed := range map[string]bool{
		app: true, "http://localhost:3000": true, app + ":8443": false, "http://app.example.com": false,
		"http://localhost.example.com": false, "null": false, "": false,
	} {
		for request, status := range map[string]int{"GET /v1/books": 200, "GET /v1/books/": 404, "PATCH /v1/books/1": 405, "OPTIONS /v1/books": 204} {
			method, path, _ := strings.Cut(request, " ")
			r := newRequest(method, path, "")
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Headers", headers)
			w, want := do(s, r), [4]string{}
			if allowed && method == "OPTIONS" {
				want = [4]string{origin, "", headers, "7200"}
			} else if allowed {
				want = [4]string{origin, "Allow,Link", "", ""}
			}
			var got [4]string
			for i, name := range []string{"Allow-Origin", "Expose-Headers", "Allow-Headers", "Max-Age"} {
				got[i] = w.Header().Get("Access-Control-" + name)
			}
			if w.Code != status || got != want {
				t.Errorf("%s, %s: got %d, %q, want %d, %q", origin, request, w.Code, got, status, want)
			}
		}
	}
}

// TestClientAddress checks that only the given networks may say who the client is, not
// every private one, and that nothing but an address gets into the log.
func TestClientAddress(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}
	for _, c := range []struct{ connection, forwarded, want string }{
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.7", "198.51.100.7"},
		{"10.0.0.1:5", "198.51.100.7, 10.0.0.2, 2001:db8::1", "198.51.100.7"},
		{"10.0.0.1:5", "198.51.100.7|10.0.0.2", "198.51.100.7"}, // two headers
		{"10.0.0.1:5", "::ffff:203.0.113.7", "203.0.113.7"},
		{"10.0.0.1:5", "203.0.113.7:51234", "10.0.0.1"},
		{"10.0.0.1:5", "fe80::1%\u009b31m", "10.0.0.1"},
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"[2001:db8::2]:5", "203.0.113.7", "203.0.113.7"},
		{"192.168.0.1:5", "203.0.113.7", "192.168.0.1"},
		{"127.0.0.1:5", "203.0.113.7", "127.0.0.1"},
		{"[fe80::1]:5", "203.0.113.7", "fe80::1"},
	} {
		r := get("/")
		r.RemoteAddr = c.connection
		r.Header["X-Forwarded-For"] = strings.Split(c.forwarded, "|")
		if got := clientAddress(proxies)(r); got != c.want {
			t.Errorf("%s, %q: got %s, want %s", c.connection, c.forwarded, got, c.want)
		}
		if got := clientAddress(nil)(r) + ":5"; got != strings.NewReplacer("[", "", "]", "").Replace(c.connection) {
			t.Errorf("%s without proxies: got %s", c.connection, got)
		}
	}
}

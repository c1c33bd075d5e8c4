package edge

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/fault"
)

//go:embed testdata/books.yaml
var books string

const (
	testKey  = "the-key-of-the-tests"
	oldKey   = "a-key-that-expired"
	brokeKey = "a-key-that-fails"
	readKey  = "a-key-that-reads"
)

type book struct {
	Title    string   `json:"title"`
	Shelf    nullable `json:"shelf"`
	Pages    *int64   `json:"pages"`
	Weight   *float32 `json:"weight"`
	Chapters []struct {
		Pages []int64 `json:"pages"`
	} `json:"chapters"`
}

// nullable is like nullable.Nullable[int64], which oapi-codegen can generate.
type nullable map[bool]int64

func (nullable) UnmarshalJSON(text []byte) error {
	_, err := strconv.ParseInt(string(text), 10, 64)
	return err
}

// server is the handler of books.yaml, and its service.
type server struct {
	*Handler
	handle   echo.HandlerFunc // of all operations
	isReady  func(context.Context) error
	log      bytes.Buffer
	registry *prometheus.Registry
}

// Register registers routes with their operationIds, as generated code does.
func (s *server) Register(e *echo.Echo, base string, m map[string][]echo.MiddlewareFunc) {
	for route, id := range map[string]string{
		"GET /books": "listBooks", "POST /books": "addBook", "GET /books/:id": "getBook", `GET /books\:count`: "countBooks",
		"PUT /notes/:name/text": "setNote", "DELETE /notes/:name/text": "removeNote", "GET /version": "getVersion",
		"PUT /covers": "setCover", "POST /reviews": "addReview",
	} {
		method, path, _ := strings.Cut(route, " ")
		e.Add(method, base+path, func(c echo.Context) error { return s.handle(c) }, m[id]...)
	}
}

// sendTitle binds a parameter and a body as generated code does, and responds with the
// name in the path, the title in the body and the query.
func sendTitle(c echo.Context) error {
	name := c.Param("name")
	if c.Request().URL.RawPath != "" {
		name, _ = url.PathUnescape(name)
	}
	var b book
	if err := c.Bind(&b); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return c.JSON(http.StatusOK, name+b.Title+c.QueryString())
}

func (s *server) Authenticate(_ context.Context, key string) (Caller, error) {
	switch key {
	case oldKey:
		return Caller{ID: key}, &fault.Error{Kind: fault.Unauthorized, Reason: "expired", Message: "the API key has expired"}
	case brokeKey:
		return Caller{}, errors.New("no connection")
	}
	return Caller{ID: key, MayWrite: key != readKey}, nil
}

func (s *server) ErrorBody(kind fault.Kind, message string) any {
	return map[string]any{"code": kind.Code, "message": message, "status": kind.Status}
}

func (s *server) Ready(ctx context.Context) error { return s.isReady(ctx) }

func (s *server) open(document string, o Options) error {
	parsed, err := ParseDocument([]byte(document), []byte(document))
	if err == nil {
		s.Handler, err = New(parsed, s, o)
	}
	return err
}

func (s *server) wantMetric(t *testing.T, line string) {
	got := do(promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}), newRequest("GET /metrics", "")).Body.String()
	assert.True(t, strings.Contains(got, line+"\n"), "metrics: got %s, want %s in it", got, line)
}

func newServer(t testing.TB, o Options) *server {
	ready := func(context.Context) error { return nil }
	s := &server{handle: sendTitle, isReady: ready, registry: prometheus.NewRegistry()}
	o.Metrics = s.registry
	o.Logger = cmp.Or(o.Logger, slog.New(slog.NewJSONHandler(&s.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	require.NoError(t, s.open(books, o))
	return s
}

// newRequest returns a request with a key. send is METHOD TARGET, then lines of the header.
func newRequest(send, body string) *http.Request {
	lines := strings.Split(send, "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	if body != "" && r.Header["Content-Type"] == nil {
		r.Header.Set("Content-Type", "application/merge-patch+json")
	}
	if r.Header["Authorization"] == nil {
		r.Header.Set("Authorization", "Bearer "+testKey)
	}
	return r
}

func do(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	defer time.AfterFunc(10*time.Second, func() { panic(r.URL.String() + " hangs") }).Stop()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func (s *server) send(send, body string) *httptest.ResponseRecorder {
	return do(s, newRequest(send, body))
}

var manual = []File{{"/manual", "text/html", "img-src *", []byte("a book")}}

// TestDocs checks the page, the redirect of browsers from / to it, and the Link of deprecated operations.
func TestDocs(t *testing.T) {
	const (
		browser     = "GET /\nAccept: text/html"
		up          = `</v1/books>; rel="up"`
		deprecation = `#/old%20books/getBook>; rel="deprecation"; type="text/html"`
	)
	local, none := Options{Docs: manual}, Options{}
	public := Options{Docs: manual, PublicURL: "https://example.com/a%20b/v1"}
	for _, test := range []struct {
		o          Options
		send       string
		status     int
		name, want string // of a header
	}{
		{local, "GET /manual", 200, "Content-Security-Policy", "img-src *"},
		{local, "GET /manual", 200, "Etag", `"ae35964219d1b24bba10a2fba9551a06219d701a8f3fff6e80750d09f4f3b495"`},
		{Options{Docs: []File{{Path: "/a", Content: []byte("\x1f\x8b")}}}, "GET /a", 200, "Content-Encoding", "gzip"},
		{none, "GET /readyz", 200, "Cache-Control", "no-store"},
		{local, browser, 302, "Location", "/manual"},
		{public, browser, 302, "Location", "https://example.com/a%20b/manual"},
		{none, browser, 404, "Vary", "Accept"},
		{local, "GET /", 404, "Vary", "Accept"},
		{local, "POST /\nAccept: text/html", 404, "Location", ""},
		{local, "GET /v1/books/1", 200, "Link", "</manual" + deprecation + ", " + up},
		{public, "GET /v1/books/1", 200, "Link", "<https://example.com/a%20b/manual" + deprecation + ", " + up},
		{none, "GET /v1/books/1", 200, "Link", up},
		{local, "GET /v1/books:count", 200, "Link", `</manual#/default/countBooks>; rel="deprecation"; type="text/html", ` + up},
	} {
		s := newServer(t, test.o)
		s.handle = func(c echo.Context) error {
			c.Response().Header().Set("Link", up)
			return sendTitle(c)
		}
		_ = s.send(test.send, "") // must not change the headers of the next response
		w := s.send(test.send, "")
		assert.Equal(t, test.status, w.Code, test.send)
		assert.Equal(t, test.want, strings.Join(w.Header()[test.name], ", "), "%s: %s", test.send, test.name)
	}
}

func TestHandlerFaults(t *testing.T) {
	const failed = `500 {"code":"internal","message":"the service failed to answer; its log has the details","status":500}`
	for name, test := range map[string]struct {
		handler      echo.HandlerFunc
		want, logged string
	}{
		"panic":            {func(echo.Context) error { panic("a secret") }, failed, `panic: a secret\ngoroutine`},
		"no response":      {func(echo.Context) error { return nil }, failed, "neither a response nor an error"},
		"no kind":          {func(echo.Context) error { return new(fault.Error) }, failed, `"error":""`},
		"another kind":     {func(echo.Context) error { return fault.New(fault.Kind{Code: "lent", Status: 409}, "") }, `409 {"code":"lent","message":"Conflict","status":409}`, ""},
		"an error of Echo": {func(echo.Context) error { return fmt.Errorf("binding: %w", echo.NewHTTPError(400, "strconv")) }, `400 {"code":"invalid_parameter","message":"a parameter has a value that cannot be read","status":400}`, ""},
		"Echo's not found": {func(echo.Context) error { return fmt.Errorf("wrapped: %w", echo.ErrNotFound) }, `404 {"code":"not_found","message":"there is nothing at this path; the operations are under https://example.com/shop/v1, and https://example.com/shop/manual describes them","status":404}`, ""},
		"with a cause": {func(echo.Context) error {
			return fmt.Errorf("x: %w", &fault.Error{Kind: fault.NotFound, Message: "no book", Err: io.EOF})
		}, `404 {"code":"not_found","message":"no book","status":404}`, ""},
		"a client that closed its side": {func(c echo.Context) error { return errors.Join(c.Request().Context().Err(), c.NoContent(204)) }, "204", ""},
	} {
		s := newServer(t, Options{Docs: manual, PublicURL: "https://example.com/shop/v1"})
		s.handle = test.handler
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // as net/http does if a client closes its side, or leaves
		w := do(s, newRequest("GET /v1/books", "").WithContext(ctx))
		assert.Equal(t, test.want, strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Body)), name)
		log := s.log.String()
		assert.Contains(t, log, test.logged, name)
		ok := strings.Count(log, "\n") == 1 && strings.Count(log, `\ngoroutine`) <= 1
		assert.True(t, ok, "%s: log: got %s, want one line, and no stacks of others", name, log)
	}
}

// TestOrigins checks what web pages may do. Without an origin, OPTIONS is like any method.
func TestOrigins(t *testing.T) {
	const app, preflight = "https://app.example.com", "OPTIONS /v1/books\nAccess-Control-Request-Headers: traceparent,x\nOrigin: "
	s := newServer(t, Options{AllowOrigins: []string{"http://localhost:*", app}})
	for send, want := range map[string]string{
		"GET /v1/books/\nOrigin: " + app:                   "404 " + app + " *",
		"PATCH /v1/books/1\nOrigin: http://localhost:3000": "405 http://localhost:3000 *",
		preflight + app:           "204 " + app + " traceparent,x OPTIONS, GET, HEAD, POST 7200",
		preflight + app + ":8443": "204",
		"GET /v1/books\nOrigin: http://localhost.example": "200",
		"OPTIONS /v1/books/":                              "404",
	} {
		w := s.send(send, "")
		got := fmt.Sprint(w.Code)
		for _, name := range []string{"Allow-Origin", "Expose-Headers", "Allow-Headers", "Allow-Methods", "Max-Age"} {
			got = strings.TrimSpace(got + " " + w.Header().Get("Access-Control-"+name))
		}
		assert.Equal(t, want, got, send)
	}
}

// TestClientAddress checks that X-Forwarded-For counts only if a trusted network or a Unix socket sends an address.
func TestClientAddress(t *testing.T) {
	s := newServer(t, Options{TrustedProxies: []net.IPNet{{IP: net.IPv4(10, 0, 0, 0), Mask: net.CIDRMask(8, 32)}}})
	for _, c := range []struct{ connection, forwarded, want string }{
		{"10.0.0.1:5", "198.51.100.7, 10.0.0.2", "198.51.100.7"},
		{"10.0.0.1:5", "198.51.100.7|10.0.0.2", "198.51.100.7"}, // two headers
		{"10.0.0.1:5", "fe80::1%\u009b31m", "10.0.0.1"},
		{"192.168.0.1:5", "203.0.113.7", "192.168.0.1"},
		{"127.0.0.1:5", "203.0.113.7", "127.0.0.1"},
		{"[fe80::1]:5", "203.0.113.7", "fe80::1"},
		{"@", "203.0.113.9, 10.0.0.2", "203.0.113.9"},
	} {
		r := newRequest("GET /livez", "")
		r.RemoteAddr, r.Header["X-Forwarded-For"] = c.connection, strings.Split(c.forwarded, "|")
		if c.connection == "@" {
			r = r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, &net.UnixAddr{}))
		}
		s.log.Reset()
		do(s, r)
		assert.Contains(t, s.log.String(), `"remote":"`+c.want+`"`, c)
	}
}

package edge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// The tests of this file have a document of their own, and methods that stand in for
// generated code.

const shelf = `openapi: 3.0.3
info: {title: Shelf, version: 1.0.0}
servers: [{url: /v1}]
security: [{bearerAuth: []}]
paths:
  /open: {get: {operationId: open, security: [], responses: {'200': {description: done}}}}
  /kept: {get: {operationId: kept, responses: {'200': {description: done}}}}
  /books/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getBook, security: [], responses: {'200': {description: done}}}
    delete: {operationId: deleteBook, responses: {'204': {description: done}}}
  /books/search: {post: {operationId: searchBooks, responses: {'200': {description: done}}}}
  /books/{id}/{part}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}, {name: part, in: path, required: true, schema: {type: string}}]
    delete: {operationId: deletePart, responses: {'204': {description: done}}}
  /books/{id}/title:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getTitle, security: [], responses: {'200': {description: done}}}
components:
  securitySchemes: {bearerAuth: {type: http, scheme: bearer}}
`

// text is a response as generated code writes it: the header, then all of the body.
type text string

func (b text) visit(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "text/plain")
	w.Header().Set("X-Books", "many")
	w.WriteHeader(http.StatusOK)
	_, err := w.Write([]byte(b))
	return err
}

// shelfOf returns the handler of shelf, each of whose operations calls method.
func shelfOf(t *testing.T, method func(ctx context.Context, operation string) (any, error), change ...func(*Service)) http.Handler {
	t.Helper()
	s := shelfService(method)
	for _, f := range change {
		f(&s)
	}
	h, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func shelfService(method func(ctx context.Context, operation string) (any, error)) Service {
	s := config([]byte(shelf))
	s.Authenticate = func(_ context.Context, token string) (Identity, error) {
		if !strings.HasPrefix(token, "key-") {
			return Identity{}, &InvalidKey{}
		}
		return Identity{ID: token}, nil
	}
	s.Operations = Operations{func(to any, base string, around func(call) call) error {
		r := to.(*router)
		handler := func(id string) echo.HandlerFunc {
			bounded := around(func(c echo.Context, _ any) (any, error) { return method(c.Request().Context(), id) })
			return func(c echo.Context) error {
				response, err := bounded(c, nil)
				if b, ok := response.(text); ok && err == nil {
					return b.visit(c.Response())
				}
				if err == nil {
					c.Response().WriteHeader(http.StatusNoContent)
				}
				return err
			}
		}
		r.GET(base+"/open", handler("open"))
		r.GET(base+"/kept", handler("kept"))
		r.GET(base+"/books/:id", handler("getBook"))
		r.DELETE(base+"/books/:id", handler("deleteBook"))
		r.POST(base+"/books/search", handler("searchBooks"))
		r.DELETE(base+"/books/:id/:part", handler("deletePart"))
		r.GET(base+"/books/:id/title", handler("getTitle"))
		return nil
	}}
	return s
}

// get sends a request from an address, with these Authorization headers.
func get(h http.Handler, line, from string, authorization ...string) *httptest.ResponseRecorder {
	method, path, _ := strings.Cut(line, " ")
	r := httptest.NewRequest(method, "/v1"+path, nil)
	r.RemoteAddr = from
	if authorization != nil {
		r.Header["Authorization"] = authorization
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const somewhere = "192.0.2.7:4711"

func TestSecurityOfNothingMakesAnOperationPublicAndNoOther(t *testing.T) {
	callers := map[string]Identity{}
	h := shelfOf(t, func(ctx context.Context, id string) (any, error) {
		callers[id] = Caller(ctx)
		return text("done"), nil
	})
	for name, authorization := range map[string][]string{
		"none": nil, "a valid key": {"Bearer key-a"}, "another key": {"Bearer x"}, "two headers": {"Bearer a", "Bearer b"}, "junk": {"\xff"},
	} {
		if w := get(h, "GET /open", somewhere, authorization...); w.Code != 200 || callers["open"] != (Identity{}) {
			t.Errorf("public with %s: got %d %s as %v, want 200 as nobody", name, w.Code, w.Body, callers["open"])
		}
	}
	if w := get(h, "GET /kept", somewhere); w.Code != 401 {
		t.Errorf("not public without a key: got %d, want 401", w.Code)
	}
	if w := get(h, "GET /kept", somewhere, "Bearer key-a"); w.Code != 200 || callers["kept"].ID != "key-a" {
		t.Errorf("not public with a key: got %d as %v, want 200 as key-a", w.Code, callers["kept"])
	}
	wantRefused(t, []byte(strings.Replace(shelf, "security: [{bearerAuth: []}]\n", "security: []\n", 1)), "write security: [] for an operation that needs no key")
}

func TestPublicCallersAreRatedByTheirNetwork(t *testing.T) {
	h := shelfOf(t, func(context.Context, string) (any, error) { return text("done"), nil }, func(s *Service) { s.Limits.Rate = 0.001 })
	for _, c := range []struct {
		from string
		want int
	}{
		{"192.0.2.7:1", 200},
		{"192.0.2.7:2", 429},
		{"[::ffff:192.0.2.7]:3", 429},
		{"192.0.2.8:1", 200},
		{"[2001:db8:0:1::1]:1", 200},
		{"[2001:db8:0:1:ffff::2]:1", 429},
		{"[2001:db8:0:2::1]:1", 200},
	} {
		w := get(h, "GET /open", c.from, "Bearer key-"+c.from[:3])
		if w.Code != c.want {
			t.Errorf("from %s: got %d %s, want %d", c.from, w.Code, w.Body, c.want)
		}
		if c.want == 429 && (w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "from this address")) {
			t.Errorf("from %s: got %v %s, want Retry-After and the reason", c.from, w.Header(), w.Body)
		}
	}
	if w := get(h, "GET /kept", "192.0.2.7:4", "Bearer key-b"); w.Code != 200 {
		t.Errorf("with a key from a full address: got %d, want 200", w.Code)
	}
}

func TestPublicCallersTakeNoRoomOfThoseWithAKey(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	registry := prometheus.NewRegistry()
	h := shelfOf(t, func(_ context.Context, id string) (any, error) {
		if id == "open" {
			begun <- struct{}{}
			<-release
		}
		return text("done"), nil
	}, func(s *Service) { s.Limits.Calls, s.Metrics = 4, registry })
	done := make(chan int)
	for range 3 { // one call, and two that wait
		go func() { done <- get(h, "GET /open", somewhere).Code }()
	}
	<-begun
	wantGauge(t, registry, "test_store_calls_queued", 2)
	if w := get(h, "GET /open", somewhere); w.Code != 503 {
		t.Errorf("one more public call: got %d, want 503", w.Code)
	}
	if w := get(h, "GET /kept", somewhere, "Bearer key-a"); w.Code != 200 {
		t.Errorf("a call with a key: got %d, want 200", w.Code)
	}
	close(release)
	for range 2 {
		<-begun
	}
	for range 3 {
		if code := <-done; code != 200 {
			t.Errorf("a public call with room: got %d, want 200", code)
		}
	}
}

// wantGauge waits until a metric without labels has a value.
func wantGauge(t *testing.T, registry *prometheus.Registry, name string, want float64) {
	t.Helper()
	var got float64
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				got = f.Metric[0].GetGauge().GetValue()
			}
		}
		if got == want {
			return
		}
	}
	t.Fatalf("%s: got %v, want %v", name, got, want)
}

func TestAGeneratedResponseCountsInTheBudgetOfBytes(t *testing.T) {
	registry := prometheus.NewRegistry()
	size := 0
	var log bytes.Buffer
	h := shelfOf(t, func(context.Context, string) (any, error) { return text(strings.Repeat("x", size)), nil },
		func(s *Service) { // a quarter is the public's, of which one has a quarter
			s.Limits.ResponseBytes, s.Metrics, s.Logger = 4*4*(32<<10), registry, slog.New(slog.NewTextHandler(&log, nil))
		})
	for _, c := range []struct{ size, want int }{{0, 200}, {100, 200}, {20 << 10, 200}, {32 << 10, 200}, {33 << 10, 500}, {32 << 10, 200}} {
		size = c.size
		w := get(h, "GET /open", somewhere)
		if w.Code != c.want || c.want == 200 && w.Body.Len() != c.size {
			t.Errorf("a response of %d bytes: got %d with %d, want %d", c.size, w.Code, w.Body.Len(), c.want)
		}
		if got := w.Header().Get("X-Books"); (got == "many") != (c.want == 200) {
			t.Errorf("X-Books of the %d: got %q, want it with the books alone", w.Code, got)
		}
		if c.want == 500 && (!strings.Contains(w.Body.String(), `"internal"`) || !strings.Contains(log.String(), "Limits.LargestResponse") || w.Header().Get("Content-Type") != mediaTypeJSON) {
			t.Errorf("the refusal: got %s %s, want an Error", w.Header(), w.Body)
		}
		wantGauge(t, registry, "test_response_bytes_in_flight", 0)
	}
}

func TestAPanicAmidAGeneratedResponseIs500(t *testing.T) {
	h := shelfOf(t, func(context.Context, string) (any, error) { return nil, nil })
	e := h.(*edge)
	e.echo.GET("/v1/panics", func(c echo.Context) error {
		x := c.(*exchange)
		x.claim.pool = e.callers.keyed
		x.held = holdBack(x.Response(), x.claim.takeBytes)
		x.Response().WriteHeader(http.StatusOK)
		panic("amid")
	})
	if w := get(h, "GET /panics", somewhere); w.Code != 500 || !strings.Contains(w.Body.String(), `"internal"`) {
		t.Errorf("got %d %s, want a 500 with an Error", w.Code, w.Body)
	}
}

func TestTheConcretePathMatchesFirstWhateverTheMethod(t *testing.T) {
	h := shelfOf(t, func(context.Context, string) (any, error) { return nil, nil })
	for line, want := range map[string]struct {
		status int
		allow  string
	}{
		"DELETE /books/7":           {204, ""},
		"DELETE /books/search":      {405, "OPTIONS, POST"},
		"GET /books/search":         {405, "OPTIONS, POST"},
		"HEAD /books/search":        {405, "OPTIONS, POST"},
		"PUT /books/search":         {405, "OPTIONS, POST"},
		"TRACE /books/search":       {405, "OPTIONS, POST"},
		"BREW /books/search":        {405, "OPTIONS, POST"},
		"OPTIONS /books/7":          {204, "OPTIONS, DELETE, GET, HEAD"},
		"TRACE /books/7":            {405, "OPTIONS, DELETE, GET, HEAD"},
		"DELETE /books/s%65arch":    {405, "OPTIONS, POST"},
		"DELETE /books/search2":     {204, ""},
		"GET /books/7":              {204, ""},
		"DELETE /books/7/cover":     {204, ""},
		"DELETE /books/7/title":     {405, "OPTIONS, GET, HEAD"},
		"DELETE /books/search/x":    {204, ""},
		"GET /books/7/title":        {204, ""},
		"OPTIONS /books/search":     {204, "OPTIONS, POST"},
		"DELETE /books/search%2Fx":  {204, ""},
		"DELETE /books/title/title": {405, "OPTIONS, GET, HEAD"},
	} {
		w := get(h, line, somewhere, "Bearer key-a")
		if w.Code != want.status || w.Header().Get("Allow") != want.allow {
			t.Errorf("%s: got %d with Allow %q, want %d with %q", line, w.Code, w.Header().Get("Allow"), want.status, want.allow)
		}
	}
	if w := get(h, "DELETE /books/search", somewhere); w.Code != 405 {
		t.Errorf("DELETE /books/search without a key: got %d, want 405, since routing comes first", w.Code)
	}
}

func TestA415ToAPatchSaysWhatAPatchMayBe(t *testing.T) {
	w := newRecorder(t).send(t, "PATCH /crates/1", "x", "Content-Type: text/plain", "Content-Type: x")
	if got := w.Header().Get("Accept-Patch"); w.Code != 415 || got != mediaTypeJSON {
		t.Errorf("got %d with Accept-Patch %q, want 415 with %s", w.Code, got, mediaTypeJSON)
	}
}

// A method that gives up since its client left returns the error of its context, as
// database/sql does. That is no fault of the service.
func TestAMethodThatStopsForAClientThatLeftIsA499AtInfo(t *testing.T) {
	for name, c := range map[string]struct {
		leaves bool
		err    error
		want   string
	}{
		"a client that left":         {true, fmt.Errorf("reading: %w", context.Canceled), "level=INFO msg=request method=GET route=/v1/open path=/v1/open status=499"},
		"a fault, and a client left": {true, errors.New("on fire"), "level=ERROR msg=request method=GET route=/v1/open path=/v1/open status=500"},
		"a client that waits":        {false, context.Canceled, "level=ERROR msg=request method=GET route=/v1/open path=/v1/open status=500"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			h := shelfOf(t, func(context.Context, string) (any, error) {
				if c.leaves {
					leave()
				}
				return nil, c.err
			}, func(s *Service) { s.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/v1/open", nil))
			if !strings.Contains(log.String(), c.want) {
				t.Errorf("got %s, want %s", &log, c.want)
			}
		})
	}
}

package edge

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/edge/constructs"
	"example.com/petstore/internal/edge/constructs/api"
)

func TestNewRefusesAServiceThatLacksAFieldOrHasOneThatMakesNoSense(t *testing.T) {
	document := documentOf("get", "/x", "", "")
	if err := newErr(config(document)); !strings.Contains(err, "GET /x, which the generated code lacks") {
		t.Fatalf("New of a whole service: got %q, want only that its code lacks the operation", err)
	}
	for want, spoil := range map[string]func(*Service){
		"Name is missing":                                  func(s *Service) { s.Name = "" },
		`Name "two words" is not`:                          func(s *Service) { s.Name = "two words" },
		`Name "Upper" is not`:                              func(s *Service) { s.Name = "Upper" },
		"Version is missing":                               func(s *Service) { s.Version = "" },
		"Document is missing":                              func(s *Service) { s.Document = nil },
		"Operations is missing":                            func(s *Service) { s.Operations = Operations{} },
		"Ready is missing":                                 func(s *Service) { s.Ready = nil },
		"Authenticate is missing, and refused needs a key": func(s *Service) { s.Authenticate = nil },
		"Rows, which Limits.Rows needs, is missing":        func(s *Service) { s.Limits.Rows = 1 },
		"one of Collectors is nil":                         func(s *Service) { s.Collectors = []prometheus.Collector{nil} },
		"none may be negative":                             func(s *Service) { s.Limits.Calls = -1 },
		"Operations have no methods":                       func(s *Service) { s.Operations = generated(nil) },
	} {
		s := config(document)
		spoil(&s)
		if got := newErr(s); !strings.Contains(got, want) {
			t.Errorf("New: got %q, want an error with %q", got, want)
		}
	}
	if got := newErr(Service{}); strings.Count(got, "missing") != 5 {
		t.Errorf("New of nothing: got %q, want an error for each of the five fields", got)
	}
}

// newErr returns the error of New, as a text.
func newErr(s Service) string {
	if _, err := New(s); err != nil {
		return err.Error()
	}
	return ""
}

var generated = Generated(api.NewStrictHandler, api.RegisterHandlersWithBaseURL)

func TestACodeThatRegistersElsewhereIsAnErrorOfNew(t *testing.T) {
	s := config(documentOf("get", "/x", "", ""))
	type mux interface{ Handle(string, http.Handler) }
	s.Operations = Generated(api.NewStrictHandler, func(mux, api.ServerInterface, string) {})(struct{ api.StrictServerInterface }{})
	if got := newErr(s); !strings.Contains(got, "registers at edge.mux, which this edge is not") {
		t.Errorf("New: got %q, want that the router does not fit", got)
	}
}

func TestNewRefusesADocumentThatWouldMakeTheEdgesPromisesFalse(t *testing.T) {
	const scoped = ", security: [{bearerAuth: [admin]}]"
	const errors = ", responses: {'200': {description: ok}, '409': {description: no, content: {"
	for _, c := range []struct{ path, operation, components, want string }{
		{"/x", scoped, "", "asks for the scopes admin"},
		{"/livez", "", "", "its path begins with /livez"},
		{"/docs/{a}", ", parameters: [{name: a, in: path, required: true, schema: {type: string}}]", "", "its path begins with /docs"},
		{"/x", "", "Error: {type: object, required: [code, detail]}", "its schema Error requires detail"},
		{"/x", "", "Error: {type: object, properties: {code: {type: integer}}}", "its schema Error has another code"},
		{"/x", "", "Error: {type: object, additionalProperties: false, properties: {code: {type: string}, status: {type: integer}}}", "its schema Error allows no message"},
		{"/x", "", "Error: {type: string}", "its schema Error is no object"},
		{"/x", errors + "application/problem+json: {schema: {type: object}}}}}", "", "the body of its response 409 is not application/json alone"},
		{"/x", errors + "application/json: {schema: {type: object, required: [title]}}}}}", "", "the body of its response 409 requires title"},
	} {
		document := string(documentOf("get", c.path, c.operation, c.components))
		if strings.Contains(c.operation, "responses") {
			document = strings.Replace(document, "responses: {'204': {description: done}}, responses", "responses", 1)
		}
		wantRefused(t, []byte(document), c.want)
	}
	for _, id := range []string{"livez", "readyz", "docs", "document", "unknown"} {
		document := strings.Replace(string(documentOf("get", "/x", "", "")), "operationId: refused", "operationId: "+id, 1)
		wantRefused(t, []byte(document), "its operationId cannot be "+id)
	}
}

func TestTheBasePathIsThatOfTheServers(t *testing.T) {
	for servers, want := range map[string]string{
		"[]":                         "",
		"[{url: /}]":                 "",
		"[{url: /v1}]":               "/v1",
		"[{url: 'https://a.b/v1/'}]": "/v1",
		"[{url: 'http://127.0.0.1:8080/shop/v2'}, {url: '{scheme}://a/shop/v2', variables: {scheme: {default: https}}}]": "/shop/v2",
	} {
		document := "servers: " + servers + "\n" + string(documentOf("get", "/x", "", ""))
		e, err := newEdge(edgeOf([]byte(document), want+"/x"))
		if err != nil || e.base != want {
			t.Errorf("servers %s: got %v (%v), want the base path %q", servers, e, err, want)
			continue
		}
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest("GET", want+"/x", nil))
		if w.Code != http.StatusUnauthorized {
			t.Errorf("GET %s/x: got %d, want 401", want, w.Code)
		}
	}
	for servers, want := range map[string]string{
		"[{url: /v1}, {url: /v2}]": "several paths, /v1 and /v2",
		"[{url: '/a b'}]":          `the segment "a b"`,
	} {
		wantRefused(t, []byte("servers: "+servers+"\n"+string(documentOf("get", "/x", "", ""))), want)
	}
}

// edgeOf returns the service of a document with one GET.
func edgeOf(document []byte, path string) Service {
	s := config(document)
	s.Operations = registering(func(r *router, _ string) { r.GET(path, nil) })
	return s
}

// refusing ends each call of postOrders so.
type refusing struct {
	api.StrictServerInterface
	err error
}

func (r refusing) CreateOrders(context.Context, api.CreateOrdersRequestObject) (api.CreateOrdersResponseObject, error) {
	return nil, r.err
}

func TestAServiceHasErrorsOfItsOwn(t *testing.T) {
	errGone := errors.New("it was here")
	for _, c := range []struct {
		err  error
		want string
	}{
		{Refuse(409, "already_shipped", "the order is on its way"), `409 {"code":"already_shipped","message":"the order is on its way","status":409}`},
		{Refuse(412, "changed", "the order has changed since"), `412 {"code":"changed","message":"the order has changed since","status":412}`},
		{errGone, `410 {"code":"gone","message":"the order was removed","status":410}`},
		{Unavailable(errGone), `503 {"code":"unavailable","message":"the service is unavailable; try again later","status":503}`},
		{errors.New("nobody knows"), `500 {"code":"internal","message":"the service failed to answer; its log has the details","status":500}`},
		{Refuse(200, "fine", "all is well"), `500 {"code":"internal","message":"the service failed to answer; its log has the details","status":500}`},
		{Refuse(409, "", ""), `500 {"code":"internal","message":"the service failed to answer; its log has the details","status":500}`},
	} {
		s := config(constructs.Document)
		s.Authenticate = func(context.Context, string) (Identity, error) { return Identity{ID: "key"}, nil }
		s.Operations = generated(refusing{err: c.err})
		s.Problem = func(err error) (int, string, string) {
			if errors.Is(err, errGone) {
				return 410, "gone", "the order was removed"
			}
			return 0, "", ""
		}
		h, err := New(s)
		if err != nil {
			t.Fatal(err)
		}
		r := &recorder{Handler: h}
		w := r.send(t, "POST /store/orders", `[{"when":"2026-11-21T10:00:00Z","amount":5}]`)
		if got := strings.TrimSpace(strconv.Itoa(w.Code) + " " + w.Body.String()); got != c.want {
			t.Errorf("%v: got %s, want %s", c.err, got, c.want)
		}
		if strings.Contains(c.err.Error(), "%!") {
			t.Errorf("for the log: got %v, want it without verbs", c.err)
		}
	}
}

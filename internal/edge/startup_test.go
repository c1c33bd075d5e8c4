package edge

import (
	"bytes"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/proof/contract/contracttest"
)

// The tests of this file look inside: at the router, and at the refusals of New.

// config returns a service that knows no key and whose generated code registers
// nothing.
func config(document []byte) Service {
	return Service{
		Name:         "test",
		Version:      "1",
		Document:     document,
		Operations:   registering(func(*router, string) {}),
		Authenticate: func(context.Context, string) (Identity, error) { return Identity{}, &InvalidKey{} },
		Ready:        func(context.Context) error { return nil },
	}
}

// registering returns operations that f registers, without the edge's own middleware.
func registering(f func(r *router, base string)) Operations {
	return Operations{func(r *router, base string, _ func(call) call) error {
		f(r, base)
		return nil
	}}
}

// catalogue returns the service of the pet store's document, without methods.
func catalogue(document []byte) Service {
	s := config(document)
	s.Name = "petstore"
	s.Operations = Generated(api.NewStrictHandler, api.RegisterHandlersWithBaseURL)(struct{ api.StrictServerInterface }{})
	return s
}

func TestNewRefusesADocumentItCannotKeep(t *testing.T) {
	const bearer = "      security:\n        - bearerAuth: []\n"
	for name, c := range map[string]struct{ old, replacement, want string }{
		"that is no YAML":                        {"openapi: 3.0.3", "openapi: [", "openapi.yaml"},
		"that is no OpenAPI":                     {"title: Pet Store", "titel: Pet Store", "openapi.yaml"},
		"an operation without a name":            {"      operationId: listPets\n", "", "it has no operationId"},
		"two operations of one name":             {"operationId: listPets", "operationId: createPet", "createPet"},
		"an operation on HEAD":                   {"    post:\n      operationId: createPet", "    head:\n      operationId: createPet", "an operation must be one of GET, POST, PUT, PATCH, DELETE"},
		"an operation on OPTIONS":                {"    post:\n      operationId: createPet", "    options:\n      operationId: createPet", "an operation must be one of"},
		"an operation on TRACE":                  {"    post:\n      operationId: createPet", "    trace:\n      operationId: createPet", "an operation must be one of"},
		"an operation with optional security":    {bearer, "      security:\n        - bearerAuth: []\n        - {}\n", "security"},
		"an operation with another scheme":       {"scheme: bearer", "scheme: basic", "security"},
		"an operation with an unknown scheme":    {bearer, "      security:\n        - otherAuth: []\n", ""},
		"a key in the query":                     {"      type: http\n      scheme: bearer\n", "      type: apiKey\n      in: query\n      name: key\n", "security"},
		"an operation the router does not have":  {"  /pets/{petId}:\n", "  /pets/all:\n    get:\n      operationId: all\n      responses: {'200': {description: x}}\n\n  /pets/{petId}:\n", "GET /v1/pets/all, which the generated code lacks"},
		"a method the router does not have":      {"    post:\n      operationId: createPet", "    put:\n      operationId: createPet", "the generated code has POST /v1/pets, which the document lacks"},
		"a path the router does not have":        {"  /pets/{petId}:\n", "  /animals/{petId}:\n", "the generated code has GET /v1/pets/:petId, which the document lacks"},
		"a sunset without quotes":                {"x-sunset: '2030-12-05'", "x-sunset: 2030", "x-sunset must be a date in quotes"},
		"a deprecated operation without its end": {"      x-sunset: '2030-12-05'\n", "", "x-sunset must be a date in quotes"},
		"a deprecated operation without a start": {"      x-deprecated-at: '2026-11-21'\n", "", "x-deprecated-at must be a date in quotes"},
	} {
		t.Run(name, func(t *testing.T) {
			document := bytes.Replace(gen.Document, []byte(c.old), []byte(c.replacement), 1)
			if bytes.Equal(document, gen.Document) {
				t.Fatalf("openapi.yaml has no %q to spoil", c.old)
			}
			if _, err := New(catalogue(document)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("New: got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestNewRefusesABaseThatLinksCannotBeginWith(t *testing.T) {
	for _, base := range []string{"/v1", "/", "pets.example.com/v1", "ftp://pets.example.com/v1", "https://me@pets.example.com/v1", "https://pets.example.com/v1?x", "http://pets\x00/v1", "http://a;b/v1", "http://a,b/v1"} {
		cfg := catalogue(gen.Document)
		cfg.PublicURL = base
		if _, err := New(cfg); err == nil {
			t.Errorf("New with the public address %q: got no error, want one", base)
		}
	}
}

func TestNewAcceptsSecurityOfTheWholeDocument(t *testing.T) {
	document := bytes.ReplaceAll(gen.Document, []byte("      security:\n        - bearerAuth: []\n"), nil)
	if bytes.Equal(document, gen.Document) {
		t.Fatal("openapi.yaml secures no operation by itself")
	}
	if _, err := New(catalogue(document)); err != nil {
		t.Errorf("New: got %v, want no error", err)
	}
}

// fromConfig returns the edge itself, not only its handler.
func fromConfig(t *testing.T) *edge {
	t.Helper()
	handler, err := New(catalogue(gen.Document))
	if err != nil {
		t.Fatal(err)
	}
	return handler.(*edge)
}

func TestNoRouteIsRegisteredWithoutItsOperation(t *testing.T) {
	for name, register := range map[string]func(*router){
		"DELETE /v1/pets":       func(r *router) { r.DELETE("/v1/pets", nil) },
		"PUT /v1/pets":          func(r *router) { r.PUT("/v1/pets", nil) },
		"PATCH /v1/pets":        func(r *router) { r.PATCH("/v1/pets", nil) },
		"HEAD /v1/pets":         func(r *router) { r.HEAD("/v1/pets", nil) },
		"OPTIONS /v1/pets":      func(r *router) { r.OPTIONS("/v1/pets", nil) },
		"TRACE /v1/pets":        func(r *router) { r.TRACE("/v1/pets", nil) },
		"CONNECT /v1/pets":      func(r *router) { r.CONNECT("/v1/pets", nil) },
		"GET /v1/pets/:id":      func(r *router) { r.GET("/v1/pets/:id", nil) },
		"GET /backdoor":         func(r *router) { r.GET("/backdoor", nil) },
		"POST /v1/pets":         func(r *router) { r.POST("/v1/pets", nil) }, // a second time
		"/v1/pets/all is below": func(r *router) { r.public("/v1/pets/all", nil) },
		"/v1 is below":          func(r *router) { r.public("/v1", nil) },
	} {
		cfg := config(gen.Document)
		cfg.Operations = registering(func(r *router, base string) {
			api.RegisterHandlersWithBaseURL(r, api.NewStrictHandler(nil, nil), base)
			register(r)
		})
		_, err := newEdge(cfg)
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("with %s: got %v, want one error that names it", name, err)
		}
	}
}

func TestEveryOperationWithoutARouteIsRefused(t *testing.T) {
	_, err := newEdge(config(gen.Document))
	for _, name := range []string{"GET /v1/pets,", "POST /v1/pets,", "GET /v1/pets/:petId,"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without routes: got %v, want an error with %s", err, name)
		}
	}
}

func TestEveryRouteBelowTheBasePathNeedsAKey(t *testing.T) {
	e := fromConfig(t)
	judge := contracttest.NewJudge(t)
	count := 0
	for _, route := range e.echo.Routes() {
		if !strings.HasPrefix(route.Path, e.base) {
			continue
		}
		count++
		r := httptest.NewRequest(route.Method, strings.ReplaceAll(route.Path, ":petId", "1"), nil)
		w := httptest.NewRecorder()
		e.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%s %s without a key: got %d, want 401", route.Method, route.Path, w.Code)
		}
		body := w.Body.Bytes()
		if route.Method == http.MethodHead {
			body = nil // which net/http does not send
		}
		if err := judge.Check(r, w.Result(), body); err != nil {
			t.Errorf("%s %s: %v", route.Method, route.Path, err)
		}
	}
	want := 0
	for _, item := range judge.Document().Paths.Map() {
		want += len(item.Operations())
		if item.Get != nil {
			want++ // HEAD
		}
	}
	if count != want {
		t.Errorf("routes below %s: got %d, want %d", e.base, count, want)
	}
}

func TestTheCodesOfThisPackageAreTheOnesTheDocumentLists(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var inCode []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "code") {
			value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Error(err)
			}
			inCode = append(inCode, value)
		}
		return true
	})
	var documented []string
	for _, codes := range contracttest.NewJudge(t).Codes() {
		documented = append(documented, codes...)
	}
	inCode = append(inCode, "idempotency_key_reused") // the pet store's own
	slices.Sort(inCode)
	slices.Sort(documented)
	if !slices.Equal(inCode, documented) {
		t.Errorf("codes in errors.go: got %q, want the document's %q", inCode, documented)
	}
}

func TestTheBodyLimitIsTheDocuments(t *testing.T) {
	description := contracttest.NewJudge(t).Document().Paths.Value("/pets").Post.Description
	if want := strconv.Itoa(MaxBody>>10) + " KiB"; !strings.Contains(strings.ReplaceAll(description, "\n", " "), want) {
		t.Errorf("description of createPet: got %q, want it to name %s", description, want)
	}
}

func TestAnExchangesContextEndsAtItsDeadlineWithItsParentAndWithTheExchange(t *testing.T) {
	begin := func(parent context.Context, started time.Time) *exchangeContext {
		c := new(exchangeContext)
		c.begin(parent, Identity{ID: "id"}, started)
		t.Cleanup(c.release)
		return c
	}
	late := begin(context.Background(), time.Now().Add(-requestTimeout))
	if err := late.Err(); err != context.DeadlineExceeded {
		t.Errorf("past the deadline: got %v, want DeadlineExceeded", err)
	}
	<-late.Done()
	if err := late.Err(); err != context.DeadlineExceeded {
		t.Errorf("past the deadline, waited for: got %v, want DeadlineExceeded", err)
	}

	parent, cancel := context.WithCancel(context.Background())
	child := begin(parent, time.Now())
	derived, stop := context.WithCancel(child)
	defer stop()
	if err := child.Err(); err != nil {
		t.Errorf("at the start: got %v, want nil", err)
	}
	cancel()
	<-child.Done()
	<-derived.Done()
	if child.Err() != context.Canceled || derived.Err() != context.Canceled {
		t.Errorf("after its parent: got %v and %v, want Canceled", child.Err(), derived.Err())
	}

	released := begin(context.Background(), time.Now())
	made, stop := context.WithCancel(released)
	defer stop()
	released.release()
	<-made.Done()
	if made.Err() != context.Canceled {
		t.Errorf("after the exchange: got %v, want Canceled", made.Err())
	}
}

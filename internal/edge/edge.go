// Package edge is HTTP in and out: routing, credentials, validation against the
// document, errors, the access log. It is the only package that knows Echo and
// kin-openapi. It decides nothing about pets.
//
// The way of a request:
//
//	ServeHTTP      settles percent-encoding, so that there is one spelling of a path
//	 Echo's router finds the operation, or 404, 405, OPTIONS
//	 exchange      request id, headers of every answer, panics, the access log
//	 operation     announces a deprecation
//	  authenticate the API key, before anything else is read
//	  readBody     size, media type and coding, before it is read; then the bytes
//	  validate     parameters and body against the document
//	 gen/api       binds what was validated, calls internal/service, writes its answer
//	 answer        every error on its way back, once
package edge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen/api"
)

// BasePath is the path every operation's path follows.
const BasePath = "/v1"

// Config is what an edge needs. All fields are required.
type Config struct {
	Document []byte                    // openapi.yaml, byte for byte
	Service  api.StrictServerInterface // answers the operations
	Logger   *slog.Logger              // one line a request

	// Authenticate tells whether a bearer token opens the service, and the ID
	// of its key for the log. An error means that it could not be told.
	Authenticate func(ctx context.Context, token string) (keyID string, ok bool, err error)

	// Ready returns why the service cannot answer now, or nil.
	Ready func(ctx context.Context) error
}

// edge is the handler of the whole service.
type edge struct {
	Config
	echo *echo.Echo
}

// New returns the handler of the whole service. It fails where the document is
// not valid, an operation would go without validation or authentication, or
// the router has a route that the document lacks.
func New(cfg Config) (http.Handler, error) {
	doc, err := loadDocument(cfg.Document)
	if err != nil {
		return nil, err
	}
	operations, err := operationsOf(doc)
	if err != nil {
		return nil, err
	}
	useStrictJSON()

	e := &edge{Config: cfg, echo: echo.New()}
	e.echo.HTTPErrorHandler = e.answer
	e.echo.Binder = validatedBinder{}
	e.echo.Use(e.exchange)

	middlewares := map[string][]echo.MiddlewareFunc{}
	for id, op := range operations {
		middlewares[id] = []echo.MiddlewareFunc{e.operation(op)}
	}
	api.RegisterHandlersWithOptions(headRouter{e.echo}, api.NewStrictHandler(cfg.Service, nil),
		api.RegisterHandlersOptions{BaseURL: BasePath, OperationMiddlewares: middlewares})
	e.registerHealth()
	if err := e.registerDocument(doc); err != nil {
		return nil, err
	}
	if err := checkRoutes(e.echo.Routes(), operations); err != nil {
		return nil, err
	}
	return e, nil
}

// ServeHTTP routes by the decoded path where that is the same path: Echo would
// route by the raw one, to which /v1/pets/%31 is not /v1/pets/1. Only an
// encoded slash makes a difference (RFC 3986, section 2.2); such a path stays.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if raw := r.URL.RawPath; raw != "" && !strings.Contains(strings.ToLower(raw), "%2f") {
		u := new(url.URL)
		*u = *r.URL
		u.RawPath = ""
		clone := new(http.Request)
		*clone = *r
		clone.URL = u
		r = clone
	}
	e.echo.ServeHTTP(w, r)
}

// headRouter registers HEAD wherever GET is: net/http sends the headers alone.
type headRouter struct{ *echo.Echo }

func (r headRouter) GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	r.HEAD(path, h, m...)
	return r.Echo.GET(path, h, m...)
}

// checkRoutes holds the routes below BasePath and the document's operations
// against each other, both ways.
func checkRoutes(routes []*echo.Route, operations map[string]*operation) error {
	documented := map[string]bool{}
	for _, op := range operations {
		documented[op.method+" "+op.path] = false
	}
	var errs []error
	for _, r := range routes {
		if r.Method == http.MethodHead || r.Method == http.MethodOptions || !strings.HasPrefix(r.Path, BasePath+"/") {
			continue
		}
		name := r.Method + " " + r.Path
		if _, ok := documented[name]; !ok {
			errs = append(errs, fmt.Errorf("the router has %s, which the document lacks", name))
			continue
		}
		documented[name] = true
	}
	for name, routed := range documented {
		if !routed {
			errs = append(errs, fmt.Errorf("the document has %s, which the router lacks: run make generate", name))
		}
	}
	return errors.Join(errs...)
}

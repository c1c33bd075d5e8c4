package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen/api"
)

// operationRouter is where the generated code registers its routes. It looks
// their middlewares up by operationId, and where a name does not match it
// registers a route without any, open to all: those are written down.
type operationRouter struct {
	headRouter
	open []string
}

func (r *operationRouter) add(method, path string, h echo.HandlerFunc, m []echo.MiddlewareFunc) *echo.Route {
	if len(m) == 0 {
		r.open = append(r.open, method+" "+path)
	}
	for _, middleware := range slices.Backward(m) { // here once; Echo would do so for every request
		h = middleware(h)
	}
	if method == http.MethodGet {
		return r.headRouter.GET(path, h)
	}
	return r.Add(method, path, h)
}

func (r *operationRouter) GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add(http.MethodGet, path, h, m)
}

func (r *operationRouter) POST(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add(http.MethodPost, path, h, m)
}

func (r *operationRouter) PUT(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add(http.MethodPut, path, h, m)
}

func (r *operationRouter) PATCH(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add(http.MethodPatch, path, h, m)
}

func (r *operationRouter) DELETE(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add(http.MethodDelete, path, h, m)
}

// registerOperations adds the routes of the generated code, each behind the
// middleware of its operation.
func (e *edge) registerOperations(operations map[string]*operation) error {
	middlewares := map[string][]echo.MiddlewareFunc{}
	for id, op := range operations {
		middlewares[id] = []echo.MiddlewareFunc{e.operation(op)}
	}
	router := &operationRouter{headRouter: headRouter{e.echo}}
	api.RegisterHandlersWithOptions(router, api.NewStrictHandler(e.Service, nil),
		api.RegisterHandlersOptions{BaseURL: BasePath, OperationMiddlewares: middlewares})
	if len(router.open) > 0 {
		return fmt.Errorf("%s would be open to all: the document has other operationIds than gen/; run make generate", strings.Join(router.open, ", "))
	}
	return nil
}

// checkRoutes holds the routes below BasePath and the document's operations
// against each other, both ways.
func checkRoutes(routes []*echo.Route, operations map[string]*operation) error {
	routed := map[string]bool{}
	for _, op := range operations {
		routed[op.name()] = false
	}
	var errs []error
	for _, r := range below(routes) {
		name := r.Method + " " + r.Path
		if _, ok := routed[name]; !ok {
			errs = append(errs, fmt.Errorf("the router has %s, which the document lacks", name))
			continue
		}
		routed[name] = true
	}
	for name, ok := range routed {
		if !ok {
			errs = append(errs, fmt.Errorf("the document has %s, which the router lacks: run make generate", name))
		}
	}
	return errors.Join(errs...)
}

// below returns the routes below BasePath, without HEAD and OPTIONS, which
// are no operations.
func below(routes []*echo.Route) []*echo.Route {
	return slices.DeleteFunc(slices.Clone(routes), func(r *echo.Route) bool {
		return r.Method == http.MethodHead || r.Method == http.MethodOptions || !strings.HasPrefix(r.Path, BasePath+"/")
	})
}

// knock sends a request without a key to every operation, which that very
// operation must refuse: two operationIds might have changed places.
func (e *edge) knock(operations map[string]*operation) error {
	for _, op := range operations {
		req := &http.Request{Method: op.method, URL: &url.URL{Path: op.path}, Header: http.Header{}, Body: http.NoBody}
		c := e.echo.NewContext(req, nowhere{})
		e.echo.Router().Find(op.method, op.path, c)
		x := &exchange{Context: c}
		if err := c.Handler()(x); !errors.Is(err, errNoKey) || x.op != op {
			return fmt.Errorf("%s is not behind the operation the document has there: are its operationIds those of gen/? run make generate", op.name())
		}
	}
	return nil
}

// nowhere is where the answers to knocking go.
type nowhere struct{}

func (nowhere) Header() http.Header         { return http.Header{} }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) WriteHeader(int)             {}

package edge

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// router is the one way into Echo's. Below the base path it takes operations of the
// document, each behind its own checks, and nothing else. It collects what it
// refuses until New asks.
type router struct {
	echo    *echo.Echo
	base    string
	callers *callers // of every operation
	// unrouted holds the operations that no route has taken yet, by method and path.
	unrouted map[string]*operation
	methods  map[string][]string // which the operations' paths have, by path
	refused  []error
}

func newRouter(e *echo.Echo, base string, operations []*operation, c *callers) *router {
	r := &router{echo: e, base: base, callers: c, unrouted: map[string]*operation{}, methods: map[string][]string{}}
	for _, op := range operations {
		r.unrouted[op.name()] = op
	}
	return r
}

// public adds a route beside the base path that needs no key.
func (r *router) public(path string, h echo.HandlerFunc) {
	if r.base != "" && (path == r.base || strings.HasPrefix(path, r.base+"/")) {
		r.refused = append(r.refused, fmt.Errorf("%s is below %s, where there are operations of the document alone", path, r.base))
		return
	}
	r.echo.GET(path, h)
	r.echo.HEAD(path, h)
}

// operation adds a route of the generated code, behind the operation that the
// document has at this method and path.
func (r *router) operation(method, path string, h echo.HandlerFunc) *echo.Route {
	name := method + " " + path
	op, ok := r.unrouted[name]
	if !ok {
		r.refused = append(r.refused, fmt.Errorf("the generated code has %s, which the document lacks: generate it anew", name))
		return nil
	}
	delete(r.unrouted, name)
	h = serve(op, r.callers, h)
	if method == http.MethodGet {
		r.add(http.MethodHead, path, h) // net/http sends the headers alone
	}
	return r.add(method, path, h)
}

func (r *router) add(method, path string, h echo.HandlerFunc) *echo.Route {
	r.methods[path] = append(r.methods[path], method)
	return r.echo.Add(method, path, h)
}

// refuseOtherMethods has each path of an operation respond to the methods that it has no
// operation of. Otherwise Echo would look for a template that matches the path and has
// the method, but the concrete path matches first (OpenAPI 3.0.3, section 4.7.8.2).
func (r *router) refuseOtherMethods() {
	for path, taken := range r.methods {
		slices.Sort(taken)
		allow := http.MethodOptions + ", " + strings.Join(taken, ", ")
		other := func(c echo.Context) error {
			c.Response().Header().Set("Allow", allow)
			if c.Request().Method == http.MethodOptions {
				return c.NoContent(http.StatusNoContent)
			}
			return echo.ErrMethodNotAllowed
		}
		r.echo.RouteNotFound(path, other) // of methods that no path has
		for _, method := range append([]string{http.MethodHead}, methods...) {
			if !slices.Contains(taken, method) {
				r.echo.Add(method, path, other)
			}
		}
	}
}

// err returns everything that was refused, and the operations without a route.
func (r *router) err() error {
	for name := range r.unrouted {
		r.refused = append(r.refused, fmt.Errorf("the document has %s, which the generated code lacks: generate it anew", name))
	}
	slices.SortFunc(r.refused, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(r.refused...)
}

// GET is a part of the interface that the generated code registers at, as are the others. The
// document has no operation of the last four: newOperation refuses them.

func (r *router) GET(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodGet, path, h)
}

// POST see GET.
func (r *router) POST(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodPost, path, h)
}

// PUT see GET.
func (r *router) PUT(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodPut, path, h)
}

// PATCH see GET.
func (r *router) PATCH(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodPatch, path, h)
}

// DELETE see GET.
func (r *router) DELETE(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodDelete, path, h)
}

// HEAD see GET.
func (r *router) HEAD(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodHead, path, h)
}

// OPTIONS see GET.
func (r *router) OPTIONS(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodOptions, path, h)
}

// TRACE see GET.
func (r *router) TRACE(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodTrace, path, h)
}

// CONNECT see GET.
func (r *router) CONNECT(path string, h echo.HandlerFunc, _ ...echo.MiddlewareFunc) *echo.Route {
	return r.operation(http.MethodConnect, path, h)
}

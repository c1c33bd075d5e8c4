package edge

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Router is the interface that the generated code registers its routes with.
type Router interface {
	CONNECT(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	DELETE(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	GET(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	HEAD(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	OPTIONS(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	PATCH(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	POST(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	PUT(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
	TRACE(path string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route
}

// router records the registered routes and rejects those without middleware,
// because they would need no key. It serves HEAD wherever it serves GET.
type router struct {
	echo       *echo.Echo
	registered map[string]bool // "GET /v1/pets"
	errs       []error
}

func (r *router) add(method, path string, h echo.HandlerFunc, m []echo.MiddlewareFunc) *echo.Route {
	if len(m) == 0 {
		r.errs = append(r.errs, fmt.Errorf("%s %s has no middleware: its operationId is not in the document; run make generate", method, path))
	}
	r.registered[method+" "+path] = true
	if method == http.MethodGet {
		r.echo.HEAD(path, h, m...)
	}
	return r.echo.Add(method, path, h, m...)
}

// These methods implement Router.

func (r *router) CONNECT(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("CONNECT", p, h, m)
}
func (r *router) DELETE(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("DELETE", p, h, m)
}
func (r *router) GET(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("GET", p, h, m)
}
func (r *router) HEAD(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("HEAD", p, h, m)
}
func (r *router) OPTIONS(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("OPTIONS", p, h, m)
}
func (r *router) PATCH(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("PATCH", p, h, m)
}
func (r *router) POST(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("POST", p, h, m)
}
func (r *router) PUT(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("PUT", p, h, m)
}
func (r *router) TRACE(p string, h echo.HandlerFunc, m ...echo.MiddlewareFunc) *echo.Route {
	return r.add("TRACE", p, h, m)
}

// Package edge serves any OpenAPI document of the 3.0 line: routing, credentials,
// validation, errors, limits, the access log, metrics, the page at /docs. It knows
// nothing of the service behind the operations but what a Service says.
//
// The way of a request:
//
//	ServeHTTP      settles percent-encoding, so that there is one spelling of a path
//	 Echo's router finds the operation, or 404, 405, OPTIONS
//	 respond       request id, headers of every response, panics; last the access log
//	 serve         announces a deprecation, then
//	  door         the API key and what it allows, before anything else is read
//	  claim        the rate of the caller, and whether there is room for a call
//	  validate     the query string and the parameters against the document
//	   readBody    media type, coding and size, before it is read; then the bytes
//	   decodeJSON  strictly; then the value against the document
//	 generated     code binds what was validated, calls the method, writes its response
//	  bounded      takes the room of the call, then that of its response
//	 errorWriter   every error on its way back, once
package edge

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/old/edge/docs"
	"example.com/petstore/internal/old/edge/metrics"
)

// edge is the handler of a service.
type edge struct {
	Service
	base     string // the path that every operation's path follows; "" is the root
	callers  callers
	errors   errorWriter
	log      accessLog
	requests *metrics.Requests // nil where there are no metrics
	echo     *echo.Echo
	methods  string // of all routes, as Allow lists them
	docs     *docs.Site
	notFound notFound
}

// New returns the handler of a service. It fails where a field is missing, and where
// the document is not valid or asks for something that the edge cannot do. It also
// fails where the generated code has other operations than the document.
func New(s Service) (http.Handler, error) {
	e, err := newEdge(s)
	if err != nil {
		return nil, err // and no *edge that is nil inside the interface
	}
	return e, nil
}

func newEdge(s Service) (*edge, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	doc, err := loadDocument(s.Document)
	if err != nil {
		return nil, err
	}
	e := &edge{Service: s, callers: callers{door: newDoor(&s), proxies: s.TrustedProxies}, echo: echo.New()}
	e.echo.Binder = nil // the generated code then binds by the exchange's own Bind
	if e.base, err = basePath(doc); err != nil {
		return nil, err
	}
	links, err := linkBase(s.PublicURL, e.base)
	if err != nil {
		return nil, err
	}
	if s.PublicURL != "" {
		e.PublicURL = links
	}
	docsAddress := strings.TrimSuffix(links, e.base) + DocsPath
	operations, err := operationsOf(doc, e.base, docsAddress)
	if err != nil {
		return nil, err
	}
	isPublic := func(op *operation) bool { return op.Public }
	if i := slices.IndexFunc(operations, func(op *operation) bool { return !op.Public }); i >= 0 && s.Authenticate == nil {
		return nil, fmt.Errorf("edge.Service: Authenticate is missing, and %s needs a key", operations[i].ID)
	}
	e.callers.keyed, e.callers.public = newPools(s.Limits, slices.ContainsFunc(operations, isPublic))
	e.errors = errorWriter{problem: s.Problem, challenge: e.callers.door.noKey.header["Www-Authenticate"]}
	e.log = accessLog{logger: s.Logger, proxies: s.TrustedProxies}
	e.methods = allMethods(operations)
	e.notFound = notFound{base: e.base, docs: docsAddress, groups: groups(operations, e.base)}

	r := newRouter(e.echo, e.base, operations, &e.callers)
	if err := s.Operations.register(r, e.base, bounded(s.Rows)); err != nil {
		return nil, err
	}
	r.refuseOtherMethods()
	registerHealth(r, s.Ready)
	if e.docs, err = registerDocs(r, &e.Service, doc, e.base); err != nil {
		return nil, err
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	e.requests, err = registerMetrics(&s, pools{e.callers.keyed, e.callers.public})
	return e, err
}

// ServeHTTP settles how the path is encoded before Echo routes by it: to Echo,
// /v1/things/%31 would not be /v1/things/1, although it is (RFC 3986, section
// 2.3). Only an encoded slash stays, since it makes another path.
func (e *edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.RawPath != "" {
		u := *r.URL
		u.RawPath = canonicalPath(u.RawPath)
		clone := *r
		clone.URL = &u
		r = &clone
	}
	// What Echo's ServeHTTP does, but for its middlewares: it would make their
	// functions anew for every request.
	c := e.echo.AcquireContext()
	c.Reset(r, w)
	e.echo.Router().Find(r.Method, echo.GetPath(r), c)
	e.respond(c)
	e.echo.ReleaseContext(c)
}

// canonicalPath encodes each segment of a path in the one canonical way. net/http
// has refused paths that cannot be decoded.
func canonicalPath(raw string) string {
	segments := strings.Split(raw, "/")
	for i, segment := range segments {
		if text, err := url.PathUnescape(segment); err == nil {
			segments[i] = url.PathEscape(text)
		}
	}
	return strings.Join(segments, "/")
}

// respond serves the request that c holds. Every error becomes a response
// here, and every request one line of the log.
func (e *edge) respond(c echo.Context) {
	x := newExchange(c, e.base)
	e.requests.Begin()

	err := e.recovering(x)
	x.held.end(x.Response(), err)
	if err != nil {
		e.errors.write(x.Response(), err)
	}
	x.abandonBody()
	o := outcomeOf(x, err)
	e.requests.End(figuresOf(x, o))
	e.log.write(x, o)
}

// recovering calls the handler of a path that is one of the routes, and turns a
// panic into an error. Echo lets the last parameter of a route run over slashes, so
// that /v1/things/1/2 would be a thing: the route and the path must have the same
// number of segments.
func (e *edge) recovering(x *exchange) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			panic(v)
		default:
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	if e.LocalOrigins {
		if err := checkHost(x.Request().Host, e.PublicURL); err != nil {
			return err
		}
		if admitLocalOrigin(x.Request(), x.Response().Header()) {
			return x.NoContent(http.StatusNoContent)
		}
	}
	if r := x.Request(); r.Method == http.MethodOptions && r.RequestURI == "*" {
		x.Response().Header().Set("Allow", e.methods) // of the service as a whole (RFC 9110, section 9.3.7)
		return x.NoContent(http.StatusNoContent)
	}
	if strings.Count(x.Path(), "/") != strings.Count(echo.GetPath(x.Request()), "/") || isUnknownFile(e.docs, x) {
		x.SetPath("")
		return e.notFound.handle(x)
	}
	x.decodePath()
	if err := x.Handler()(x); err != echo.ErrNotFound { // Echo's own
		return err
	}
	return e.notFound.handle(x)
}

// Package edge is HTTP in and out: routing, credentials, validation against the
// document, errors, the access log. It is the only package that knows Echo and
// kin-openapi. It decides nothing about pets.
//
// The way of a request:
//
//	ServeHTTP      settles percent-encoding, so that there is one spelling of a path
//	 Echo's router finds the operation, or 404, 405, OPTIONS
//	 exchange      request id, headers of every response, panics, the access log
//	 serve         announces a deprecation, then
//	  authenticate the API key and what it allows, before anything else is read
//	  validate     the query string and the parameters against the document
//	   readBody    media type, coding and size, before it is read; then the bytes
//	   decodeJSON  strictly; then the value against the document
//	 gen/api       binds what was validated, calls internal/pets/service, writes its response
//	 writeError    every error on its way back, once
package edge

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge/docs"
	"example.com/petstore/internal/pets/keys"
)

// BasePath is the path every operation's path follows.
const BasePath = "/v1"

// Config is what an edge needs. The fields from LocalOrigins on are optional.
type Config struct {
	Document []byte                    // openapi.yaml, byte for byte
	Service  api.StrictServerInterface // one method an operation
	Logger   *slog.Logger              // one line a request
	Base     string                    // the beginning of links: BasePath, or the public address that ends in it

	// Authenticate tells whether a bearer token is valid, and what it allows. An
	// error means that it could not be told.
	Authenticate func(ctx context.Context, token string) (grant keys.Grant, ok bool, err error)

	// Ready returns why the service cannot serve now, or nil.
	Ready func(ctx context.Context) error

	QuickStart string // of the page at /docs, in Markdown
	Samples    []byte // of the page at /docs, by operationId, as x-codeSamples has them

	// LocalOrigins lets scripts of pages at localhost use the service (CORS).
	// Otherwise no browser lets a script of another origin do so.
	LocalOrigins bool

	Limits         Limits         // none where it is zero
	Observer       Observer       // nil for none
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
}

// edge is the handler of the whole service.
type edge struct {
	Config
	echo    *echo.Echo
	methods string          // of all routes, as Allow lists them
	groups  map[string]bool // the first segments of the operations' paths
	docs    *docs.Site
}

// New returns the handler of the whole service. It fails where the document is
// not valid, asks for something the service cannot do, or has other operations
// than the generated code.
func New(cfg Config) (http.Handler, error) {
	e, err := newEdge(cfg, func(r *router) {
		api.RegisterHandlersWithBaseURL(r, api.NewStrictHandler(cfg.Service, []api.StrictMiddlewareFunc{r.edge.bounded}), BasePath)
	})
	if err != nil {
		return nil, err // and no *edge that is nil inside the interface
	}
	return e, nil
}

// newEdge is New for any document, whose generated code register hands to the
// router.
func newEdge(cfg Config, register func(*router)) (*edge, error) {
	if !strings.HasSuffix(cfg.Base, BasePath) {
		return nil, fmt.Errorf("links would begin with %q, which does not end in %s", cfg.Base, BasePath)
	}
	doc, err := loadDocument(cfg.Document)
	if err != nil {
		return nil, err
	}
	operations, err := operationsOf(doc, cfg.docsAddress())
	if err != nil {
		return nil, err
	}
	e := &edge{Config: cfg, echo: echo.New(), methods: allMethods(operations), groups: groups(operations)}
	e.echo.Binder = nil // the generated code then binds by the exchange's own Bind

	r := newRouter(e, operations)
	register(r)
	e.registerHealth(r)
	if err := e.registerDocs(r, doc); err != nil {
		return nil, err
	}
	return e, r.err()
}

// ServeHTTP settles how the path is encoded before Echo routes by it: to Echo,
// /v1/pets/%31 would not be /v1/pets/1, although it is (RFC 3986, section
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

// Package edge puts Echo together for an OpenAPI document: middleware,
// authentication, validation by kin-openapi, limits, errors, probes, metrics,
// the documentation page and the process around them. It knows nothing of the
// service behind the operations.
//
// A request passes through the middleware that routes lists, then through
// serveOperation, then through the code that oapi-codegen generated, and every
// error ends in writeError.
package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/contrib/instrumentation/github.com/labstack/echo/otelecho"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
)

// Service is what the edge serves. All fields are required.
type Service struct {
	Name     string // one lower-case word; the realm of challenges and the namespace of metrics
	Version  string // of the program
	Document *Document

	// Register registers the generated routes below base, with the middleware
	// of each operation:
	//
	//	api.RegisterHandlersWithOptions(e, handler, api.RegisterHandlersOptions{BaseURL: base, OperationMiddlewares: operations})
	Register func(e *echo.Echo, base string, operations map[string][]echo.MiddlewareFunc)

	// Authenticate returns the caller with an API key, or an *InvalidKey. Any
	// other error means that the key could not be checked, which is a 503.
	Authenticate func(ctx context.Context, key string) (Caller, error)

	// Problem returns the status, code and message for an error of the
	// service, or 0 for an error that it does not know, which is a 500.
	Problem func(err error) (status int, code, message string)

	// Ready returns why the service cannot serve requests, or nil.
	Ready func(ctx context.Context) error

	// Weight returns the weight of a large response to a query, or 0. The
	// weights of all requests in progress add up to at most 800.
	Weight func(query url.Values) int64
}

// Options are set by the operator. Zero values are fine.
type Options struct {
	Logger         *slog.Logger
	Metrics        *prometheus.Registry
	PublicURL      string         // the address that clients use, if there is a proxy in front
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	MaxInFlight    int            // operations in progress; 0 means 256
	RateLimit      float64        // requests per second per key; 0 means no limit
	LocalOrigins   bool           // pages at localhost may read responses (CORS)
}

// Server is an http.Handler that serves a document.
type Server struct {
	service   Service
	logger    *slog.Logger
	echo      *echo.Echo
	metrics   *metrics
	calls     *calls
	docs      string                             // where the documentation page is
	probes    singleflight.Group                 // of readiness
	rates     *middleware.RateLimiterMemoryStore // nil without a limit
	rateRetry string                             // Retry-After of a request beyond its rate

	certificate     *certificate  // nil without TLS
	readTimeout     time.Duration // for the body
	shutdownTimeout time.Duration // how long requests may take to end after the drain
	stopping        atomic.Bool   // the process has been told to stop
}

// New returns a Server for a service. It fails if the document and the
// generated code do not match.
func New(service Service, o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Metrics == nil {
		o.Metrics = prometheus.NewRegistry()
	}
	s := &Server{service: service, logger: o.Logger, echo: echo.New(), calls: newCalls(cmp.Or(o.MaxInFlight, 256)), readTimeout: readTimeout, shutdownTimeout: 10 * time.Second}
	s.docs = strings.TrimSuffix(o.PublicURL, service.Document.Base) + docsPath
	s.metrics = newMetrics(s, o.Metrics)
	if o.RateLimit > 0 {
		s.rateRetry = strconv.Itoa(int(math.Ceil(1 / o.RateLimit)))
		s.rates = middleware.NewRateLimiterMemoryStoreWithConfig(middleware.RateLimiterMemoryStoreConfig{
			Rate: rate.Limit(o.RateLimit), // and as many at once
		})
	}
	s.echo.HTTPErrorHandler = s.writeError
	s.echo.Binder = jsonBinder{}
	s.echo.IPExtractor = clientAddress(o.TrustedProxies)
	if err := s.routes(o); err != nil {
		return nil, err
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// routes adds the middleware, in the order in which a request meets it, and
// the routes.
func (s *Server) routes(o Options) error {
	e := s.echo
	e.Pre(canonicalPath)
	if tracing() {
		e.Use(otelecho.Middleware(s.service.Name))
	}
	e.Use(
		requestID,
		s.commonHeaders,
		s.metrics.observe,
		s.accessLog(), // writes the responses to errors
		recoverPanics(),
		wholePath,
	)
	if o.LocalOrigins {
		e.Use(allowLocalOrigins())
	}
	s.addProbes()
	if err := s.addDocs(o.PublicURL); err != nil {
		return err
	}
	return s.addOperations()
}

// addOperations registers the generated routes, and HEAD wherever there is GET.
// It checks that the routes are the operations of the document, with their
// middleware.
func (s *Server) addOperations() error {
	document := s.service.Document
	operations := map[string][]echo.MiddlewareFunc{}
	for id, op := range document.operations {
		operations[id] = []echo.MiddlewareFunc{s.serveOperation(op)}
	}
	var heads []func()
	var errs []error
	registered := map[string]bool{} // "GET /v1/pets"
	s.echo.OnAddRouteHandler = func(_ string, route echo.Route, h echo.HandlerFunc, m []echo.MiddlewareFunc) {
		registered[route.Method+" "+route.Path] = true
		if route.Method == http.MethodGet {
			heads = append(heads, func() { s.echo.HEAD(route.Path, h, m...) })
		}
		if len(m) == 0 { // it would need no key
			errs = append(errs, fmt.Errorf("%s %s has no middleware: its operationId is not in the document; run make generate", route.Method, route.Path))
		}
	}
	s.service.Register(s.echo, document.Base, operations)
	s.echo.OnAddRouteHandler = nil
	for _, add := range heads {
		add()
	}
	echoPath := strings.NewReplacer(":", `\:`, "{", ":", "}", "")
	for _, op := range document.operations {
		route := op.route.Method + " " + document.Base + echoPath.Replace(op.route.Path)
		if !registered[route] {
			errs = append(errs, fmt.Errorf("%s: operation %s of the document is not registered; run make generate", route, op.id))
		}
		delete(registered, route)
	}
	for route := range registered {
		errs = append(errs, fmt.Errorf("%s is registered, but is no operation of the document; run make generate", route))
	}
	return errors.Join(errs...)
}

// clientAddress returns how the address of a client is found.
func clientAddress(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		trust = append(trust, echo.TrustIPRange(&net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}

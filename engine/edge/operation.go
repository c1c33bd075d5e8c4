package edge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"example.com/petstore/engine/fault"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
)

// serveOperation returns the middleware of one operation: everything that happens between
// the router and the generated code.
func (h *Handler) serveOperation(op *operation) echo.MiddlewareFunc {
	deprecation := op.deprecation.Clone()
	if deprecation != nil && h.docsPath != "" {
		tag := slices.Concat(op.Tags, []string{"default"})[0]
		page := h.docsURL + "#/" + url.PathEscape(tag) + "/" + op.OperationID
		deprecation.Set("Link", fmt.Sprintf(`<%s>; rel="deprecation"; type="text/html"`, page))
	}
	return func(generated echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			// net/http cancels the context of a request even if the client has closed only its
			// side of the connection and still reads.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), h.options.Timeout)
			defer cancel()
			r := &request{operation: op.OperationID, deprecation: deprecation, h: h, op: op, c: c}
			r.start(ctx, c)
			return r.serve(ctx, generated)
		}
	}
}

// request is a routed request. If its path is outside the document, only operation is set.
type request struct {
	operation   string      // its operationId, or the name of the path
	deprecation http.Header // added to the response
	h           *Handler
	op          *operation
	c           echo.Context
	caller      Caller
	client      string // the ID of the caller or, if the operation needs no key, the address
	body        []byte
	schema      *openapi3.Schema // of the body; may be nil
}

type requestKey struct{}

// start stores the request in a child of ctx, which becomes its context.
func (r *request) start(ctx context.Context, c echo.Context) {
	c.SetRequest(c.Request().WithContext(context.WithValue(ctx, requestKey{}, r)))
}

// requestOf returns the request with the context ctx, or an empty one.
func requestOf(ctx context.Context) *request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return r
	}
	return &request{}
}

// CallerOf returns the caller of the request with the context ctx, or the zero Caller if
// the operation needs no key.
func CallerOf(ctx context.Context) Caller { return requestOf(ctx).caller }

// serve answers the request. It reads the body before it waits for a slot, because the body may
// arrive slowly, but rejects an invalid request only afterwards: a 503 comes before a 400.
func (r *request) serve(ctx context.Context, generated echo.HandlerFunc) error {
	if err := r.identify(ctx); err != nil {
		return err
	}
	share, err := r.admit()
	if err != nil {
		return err
	}
	defer r.h.inFlight.leave(r.client)
	method := r.c.Request().Method
	if !r.op.public && !r.caller.MayWrite && method != http.MethodGet && method != http.MethodHead {
		return r.challenge("insufficient_scope", fault.New(fault.Forbidden, ""))
	}
	invalid := r.read()
	return r.h.inFlight.run(ctx, share, func() error {
		if invalid != nil {
			return invalid
		}
		if err := generated(r.c); err != nil || r.c.Response().Committed {
			return err
		}
		return fmt.Errorf("%s returned neither a response nor an error", r.operation)
	})
}

// identify authenticates the caller. If it returns an error, the caller has an ID if the token is
// known.
func (r *request) identify(ctx context.Context) error {
	if r.op.public {
		r.client = r.c.RealIP()
		return nil
	}
	values := r.c.Request().Header["Authorization"]
	if len(values) == 0 {
		return r.challenge("", &fault.Error{Kind: fault.Unauthorized, Reason: "missing"})
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || !IsBearerToken(token) {
		return r.challenge("", &fault.Error{Kind: fault.Unauthorized, Reason: "malformed"})
	}
	caller, err := r.h.service.Authenticate(ctx, token)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Unauthorized {
		r.caller = caller
		return r.challenge("invalid_token", e)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, err)
	}
	r.caller, r.client = caller, caller.ID
	return nil
}

// challenge adds a WWW-Authenticate header (RFC 6750, section 3) to the response and returns err.
func (r *request) challenge(code string, err *fault.Error) error {
	value := `Bearer realm="` + r.h.options.Name + `"`
	if code != "" {
		value += `, error="` + code + `"`
	}
	if err.Message != "" {
		value += `, error_description="` + err.Message + `"`
	}
	r.c.Response().Header().Set("Www-Authenticate", value)
	return err
}

// IsBearerToken reports whether token has the form of a bearer token, which RFC 6750,
// section 2.1, calls b64token: letters, digits and - . _ ~ + /, with = only at its end.
func IsBearerToken(token string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	bare := strings.TrimRight(token, "=")
	return bare != "" && strings.Trim(bare, characters) == ""
}

// admit counts the request against the limits of its client.
func (r *request) admit() (*share, error) {
	if r.h.rates != nil {
		if allowed, _ := r.h.rates.Allow(r.client); !allowed {
			r.h.shed.WithLabelValues("rate").Inc()
			r.c.Response().Header().Set("Retry-After", fmt.Sprint(math.Ceil(1/r.h.options.RateLimit)))
			return nil, fault.New(fault.RateLimited, "too many requests; try again later")
		}
	}
	return r.h.inFlight.enter(r.client)
}

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

	"example.com/petstore/internal/fault"
	"github.com/labstack/echo/v4"
)

// serveOperation returns the middleware of one operation: everything that
// happens between the router and the generated code, from top to bottom.
func (h *Handler) serveOperation(op *operation) echo.MiddlewareFunc {
	deprecation := op.deprecation.Clone()
	if deprecation != nil && h.options.Docs.Path != "" {
		tag := slices.Concat(op.Tags, []string{"default"})[0]
		page := h.docsURL + "#/" + url.PathEscape(tag) + "/" + op.OperationID
		deprecation.Set("Link", fmt.Sprintf(`<%s>; rel="deprecation"; type="text/html"`, page))
	}
	return func(generated echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			if deprecation != nil {
				c.Response().Before(func() {
					header := c.Response().Header()
					for name, values := range deprecation {
						header[name] = append(values, header[name]...) // the generated code may have set Link
					}
				})
			}

			// net/http cancels the context of a request even if the client has closed
			// only its side of the connection and still reads.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Request().Context()), h.options.Timeout)
			defer cancel()
			call := startCall(ctx, c, op.OperationID)
			client := "" // the caller or, if the operation needs no key, the address
			if op.public {
				client = c.RealIP()
			} else {
				var err error
				if call.caller, err = h.authenticate(ctx, c); err != nil {
					return err
				}
				client = call.caller.ID
			}

			if err := h.checkRate(c, client); err != nil {
				return err
			}
			share := h.inFlight.enter(client)
			if share == nil {
				return errOverloaded
			}
			defer h.inFlight.leave(client)
			// The body is read before the request takes a place, because it may arrive slowly.
			// An invalid request is refused once it has a place, so that a 503 comes before a 400.
			invalid := op.validateParameters(c)
			if invalid == nil {
				call.body, invalid = op.readBody(c, h.options.MaxBody)
			}
			return h.inFlight.run(ctx, share, func() error {
				if invalid != nil {
					return invalid
				}
				if err := generated(c); err != nil || c.Response().Committed {
					return err
				}
				return fmt.Errorf("%s returned neither a response nor an error", op.OperationID)
			})
		}
	}
}

// authenticate returns the caller of a request. With an error, the caller has an ID if the
// token was recognised.
func (h *Handler) authenticate(ctx context.Context, c echo.Context) (Caller, error) {
	r := c.Request()
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return Caller{}, h.challenge(c, "", &fault.Error{Kind: fault.Unauthorized, Reason: "missing"})
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || !IsBearerToken(token) {
		return Caller{}, h.challenge(c, "", &fault.Error{Kind: fault.Unauthorized, Reason: "malformed"})
	}
	caller, err := h.service.Authenticate(ctx, token)
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.Unauthorized {
		return caller, h.challenge(c, "invalid_token", e)
	}
	if err != nil {
		return Caller{}, fault.Wrap(fault.Unavailable, err)
	}
	if !caller.MayWrite && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return caller, h.challenge(c, "insufficient_scope", fault.New(fault.Forbidden, ""))
	}
	return caller, nil
}

// IsBearerToken reports whether token has the form of a bearer token, which RFC 6750,
// section 2.1, calls b64token: letters, digits and - . _ ~ + /, with = only at its end.
func IsBearerToken(token string) bool {
	const characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"
	bare := strings.TrimRight(token, "=")
	return bare != "" && strings.Trim(bare, characters) == ""
}

// challenge adds a WWW-Authenticate header (RFC 6750, section 3) to the response and
// returns err.
func (h *Handler) challenge(c echo.Context, code string, err *fault.Error) error {
	value := `Bearer realm="` + h.options.Name + `"`
	if code != "" {
		value += `, error="` + code + `"`
	}
	if err.Message != "" {
		value += `, error_description="` + err.Message + `"`
	}
	c.Response().Header().Set("Www-Authenticate", value)
	return err
}

// checkRate counts a request against the limit of a client.
func (h *Handler) checkRate(c echo.Context, client string) error {
	if h.rates == nil {
		return nil
	}
	if allowed, _ := h.rates.Allow(client); allowed {
		return nil
	}
	h.metrics.shed.WithLabelValues("rate").Inc()
	c.Response().Header().Set("Retry-After", fmt.Sprint(math.Ceil(1/h.options.RateLimit)))
	return fault.New(fault.RateLimited, "too many requests; try again later")
}

// call is what is known about a request once it is routed.
type call struct {
	operation string // its operationId, or the name of a path outside the document
	caller    Caller
	body      []byte
}

type callKey struct{}

// startCall stores a new call in a child of ctx, which becomes the context of the request.
func startCall(ctx context.Context, c echo.Context, operation string) *call {
	started := &call{operation: operation}
	c.SetRequest(c.Request().WithContext(context.WithValue(ctx, callKey{}, started)))
	return started
}

// callOf returns the call in ctx, or an empty one.
func callOf(ctx context.Context) *call {
	if started, ok := ctx.Value(callKey{}).(*call); ok {
		return started
	}
	return &call{}
}

// CallerOf returns the caller of the request with the context ctx, or the zero Caller if
// the operation needs no key.
func CallerOf(ctx context.Context) Caller { return callOf(ctx).caller }

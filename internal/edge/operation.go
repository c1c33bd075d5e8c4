package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// requestTimeout limits the work on one request.
const requestTimeout = 8 * time.Second

// serveOperation returns the middleware of one operation: everything that
// happens between the router and the generated code, from top to bottom.
func (h *Handler) serveOperation(op *operation) echo.MiddlewareFunc {
	deprecation := op.deprecation.Clone()
	if deprecation != nil {
		tag := slices.Concat(op.Tags, []string{"default"})[0]
		page := h.docs + "#/" + url.PathEscape(tag) + "/" + op.OperationID
		deprecation.Set("Link", fmt.Sprintf(`<%s>; rel="deprecation"; type="text/html"`, page))
	}
	return func(generated echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(operationName, op.OperationID)
			if deprecation != nil {
				c.Response().Before(func() {
					header := c.Response().Header()
					for name, values := range deprecation {
						header[name] = append(values, header[name]...) // the generated code may have set Link
					}
				})
			}

			// net/http also cancels the context of a request if the client has
			// closed only its side of the connection.
			r := c.Request()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), requestTimeout)
			defer cancel()
			var caller Caller
			var err error
			if !op.public {
				caller, err = h.authenticate(ctx, r)
			}
			c.SetRequest(r.WithContext(context.WithValue(ctx, callerKey{}, caller)))
			if err != nil {
				return err
			}
			limited := caller.ID
			if op.public {
				limited = c.RealIP()
			}
			if err := h.checkRate(limited); err != nil {
				return err
			}
			own := h.inFlight.enter(limited)
			if own == nil {
				return h.overloaded()
			}
			defer h.inFlight.leave(limited)
			invalid := op.read(c) // waits for the body; what is wrong is said once the request may run
			if !h.inFlight.acquire(ctx, own) {
				return h.overloaded()
			}
			defer h.inFlight.release(own)
			if invalid != nil {
				return invalid
			}

			if err := generated(c); err != nil || c.Response().Committed {
				return err
			}
			return fmt.Errorf("%s returned neither a response nor an error", op.OperationID)
		}
	}
}

// b64token has the characters of a bearer token but = (RFC 6750, section 2.1).
const b64token = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~+/"

// authenticate returns the caller of a request. If the key was recognised, the
// caller has its ID even when there is an error.
func (h *Handler) authenticate(ctx context.Context, r *http.Request) (Caller, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return Caller{}, h.unauthorized("", "", "missing")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	bare := strings.TrimRight(token, "=")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || bare == "" || strings.Trim(bare, b64token) != "" {
		return Caller{}, h.unauthorized("", "", "malformed")
	}
	caller, err := h.service.Authenticate(ctx, token)
	if p, ok := errors.AsType[*Problem](err); ok {
		return caller, h.unauthorized("invalid_token", p.Message, p.Reason)
	}
	if err != nil {
		return Caller{}, Unavailable(err)
	}
	if caller.ReadOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return caller, &Problem{
			Status: http.StatusForbidden, Code: "forbidden",
			Message: "this API key may only read; the operation needs one that may write",
			Header:  h.challenge("insufficient_scope", ""),
		}
	}
	return caller, nil
}

func (h *Handler) unauthorized(fault, tell, reason string) *Problem {
	return &Problem{
		Status: http.StatusUnauthorized, Code: "unauthorized",
		Message: cmp.Or(tell, "a valid API key is required, sent as Authorization: Bearer API_KEY"),
		Header:  h.challenge(fault, tell), Reason: reason,
	}
}

// challenge returns a WWW-Authenticate header (RFC 6750, section 3).
func (h *Handler) challenge(fault, description string) http.Header {
	value := `Bearer realm="` + h.options.Name + `"`
	if fault != "" {
		value += `, error="` + fault + `"`
	}
	if description != "" {
		value += `, error_description="` + description + `"`
	}
	return http.Header{"Www-Authenticate": {value}}
}

// checkRate counts a request against the limit of its API key, or of its
// address if the operation needs no key.
func (h *Handler) checkRate(limited string) error {
	if h.rates == nil {
		return nil
	}
	if allowed, _ := h.rates.Allow(limited); allowed {
		return nil
	}
	h.metrics.shed.WithLabelValues("rate").Inc()
	retry := fmt.Sprint(math.Ceil(1 / h.options.RateLimit))
	return &Problem{
		Status: http.StatusTooManyRequests, Code: "rate_limited",
		Message: "too many requests; try again later", Header: http.Header{"Retry-After": {retry}},
	}
}

// Caller identifies who sent a request.
type Caller struct {
	ID       string // of the API key; not a secret, because it is logged
	ReadOnly bool   // the caller may only use operations that change nothing
}

type callerKey struct{}

// CallerOf returns the caller of the operation whose context is ctx. It is the
// zero Caller if the operation needs no key.
func CallerOf(ctx context.Context) Caller {
	caller, _ := ctx.Value(callerKey{}).(Caller)
	return caller
}

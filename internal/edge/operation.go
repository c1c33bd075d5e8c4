package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/sync/semaphore"
)

// requestTimeout limits the work on one request.
const requestTimeout = 8 * time.Second

// serveOperation returns the middleware of one operation: everything that
// happens between the router and the generated code, from top to bottom.
func (s *Server) serveOperation(op *operation) echo.MiddlewareFunc {
	deprecation := op.deprecation.Clone()
	if deprecation != nil {
		deprecation.Set("Link", fmt.Sprintf(`<%s%s>; rel="deprecation"; type="text/html"`, s.docs, anchor(op.route.Operation)))
	}
	return func(generated echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			c.Set(operationName, op.id)
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
			if !op.public {
				var err error
				caller, err = s.authenticate(ctx, r)
				c.Set(callerID, caller.ID)
				if err != nil {
					return err
				}
			}
			if err := s.checkRate(c, caller); err != nil {
				return err
			}
			arrived := time.Now()
			if err := s.inFlight.acquire(ctx); err != nil {
				s.metrics.shed.WithLabelValues("in_flight").Inc()
				return Unavailable(err)
			}
			running := &request{Caller: caller, server: s}
			defer s.inFlight.release(running)

			if op.body == nil && r.ContentLength != 0 { // nobody reads the body
				c.Response().Header().Set("Connection", "close")
			}
			if op.body != nil && time.Since(arrived) > s.readTimeout-lingerTimeout { // the wait has used its time
				_ = http.NewResponseController(c.Response()).SetReadDeadline(time.Now().Add(lingerTimeout))
			}
			defer c.SetRequest(r) // accessLog checks its context to see whether the client disconnected
			c.SetRequest(r.WithContext(context.WithValue(ctx, requestKey{}, running)))
			if err := op.validate(c); err != nil {
				return err
			}
			if err := generated(c); err != nil {
				return err
			}
			if !c.Response().Committed {
				return fmt.Errorf("%s returned neither a response nor an error", op.id)
			}
			return nil
		}
	}
}

// b64token has the characters of a bearer token but = (RFC 6750, section 2.1).
const b64token = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~+/"

// authenticate returns the caller of a request. If the key was recognised, the
// caller has its ID even when there is an error.
func (s *Server) authenticate(ctx context.Context, r *http.Request) (Caller, error) {
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return Caller{}, s.unauthorized("", "", "missing")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	bare := strings.TrimRight(token, "=")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || bare == "" || strings.Trim(bare, b64token) != "" {
		return Caller{}, s.unauthorized("", "", "malformed")
	}
	caller, err := s.service.Authenticate(ctx, token)
	if p, ok := errors.AsType[*Problem](err); ok {
		return caller, s.unauthorized("invalid_token", p.Message, p.Reason)
	}
	if err != nil {
		return Caller{}, Unavailable(err)
	}
	if caller.ReadOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
		return caller, &Problem{
			Status: http.StatusForbidden, Code: "forbidden",
			Message: "this API key may only read; the operation needs one that may write",
			Header:  s.challenge("insufficient_scope", ""),
		}
	}
	return caller, nil
}

func (s *Server) unauthorized(fault, tell, reason string) *Problem {
	return &Problem{
		Status: http.StatusUnauthorized, Code: "unauthorized",
		Message: cmp.Or(tell, "a valid API key is required, sent as Authorization: Bearer API_KEY"),
		Header:  s.challenge(fault, tell), Reason: reason,
	}
}

// challenge returns a WWW-Authenticate header (RFC 6750, section 3).
func (s *Server) challenge(fault, description string) http.Header {
	value := `Bearer realm="` + s.options.Name + `"`
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
func (s *Server) checkRate(c echo.Context, caller Caller) error {
	if s.rates == nil {
		return nil
	}
	if allowed, _ := s.rates.Allow(cmp.Or(caller.ID, c.RealIP())); allowed {
		return nil
	}
	s.metrics.shed.WithLabelValues("rate").Inc()
	retry := fmt.Sprint(math.Ceil(1 / s.options.RateLimit))
	return &Problem{Status: http.StatusTooManyRequests, Code: "rate_limited", Message: "too many requests; try again later", Header: http.Header{"Retry-After": {retry}}}
}

const (
	// DefaultMaxInFlight is the default of Options.MaxInFlight.
	DefaultMaxInFlight = 256
	// Responses of more than largeResponse bytes have maxLarge bytes at most together.
	largeResponse = 32 << 10
	maxLarge      = 48 << 20
)

var (
	errOverloaded = errors.New("too many requests are in flight")
	errNoRoom     = fmt.Errorf("%w: their large responses are read slowly", errOverloaded)
)

// inFlight limits the requests to operations, and the memory that their responses take.
type inFlight struct {
	running *semaphore.Weighted
	count   atomic.Int64 // of requests that run or wait
	most    int64        // of count

	mu      sync.Mutex
	large   int64            // bytes of large responses
	largeOf map[string]int64 // the part of each caller
}

// newInFlight lets n requests run, and as many wait.
func newInFlight(n int64) *inFlight {
	return &inFlight{running: semaphore.NewWeighted(n), most: 2 * n, largeOf: map[string]int64{}}
}

// acquire waits until a request may run. The caller must call release once the
// response is written.
func (f *inFlight) acquire(ctx context.Context) error {
	if f.count.Add(1) > f.most || f.running.Acquire(ctx, 1) != nil {
		f.count.Add(-1)
		return errOverloaded
	}
	return nil
}

func (f *inFlight) release(r *request) {
	f.mu.Lock()
	f.large -= r.reserved
	f.largeOf[r.ID] -= r.reserved
	f.mu.Unlock()
	f.running.Release(1)
	f.count.Add(-1)
}

// request is a request to an operation.
type request struct {
	Caller
	server   *Server
	reserved int64 // bytes of inFlight.large
}

type requestKey struct{}

// Caller identifies who sent a request.
type Caller struct {
	ID       string // of the API key; not a secret, because it is logged
	ReadOnly bool   // the caller may only use operations that change nothing
}

// CallerOf returns the caller of the operation whose context is ctx. It is the
// zero Caller if the operation needs no key.
func CallerOf(ctx context.Context) Caller {
	if o, ok := ctx.Value(requestKey{}).(*request); ok {
		return o.Caller
	}
	return Caller{}
}

// Reserve reserves memory for the response of the operation whose context is ctx, until
// it is written, in place of what it had reserved. It fails if other large responses are
// read slowly. Those to one caller get at most half of the memory, unless there is only one.
func Reserve(ctx context.Context, bytes int64) error {
	r, ok := ctx.Value(requestKey{}).(*request)
	if !ok || bytes <= largeResponse {
		return nil
	}
	f := r.server.inFlight
	f.mu.Lock()
	defer f.mu.Unlock()
	more := min(bytes, maxLarge) - r.reserved
	if own := f.largeOf[r.ID]; f.large+more > maxLarge || own > r.reserved && own+more > maxLarge/2 {
		r.server.metrics.shed.WithLabelValues("large").Inc()
		return Unavailable(errNoRoom)
	}
	f.large += more
	f.largeOf[r.ID] += more
	r.reserved += more
	return nil
}

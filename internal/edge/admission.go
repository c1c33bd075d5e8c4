package edge

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/edge/limit"
)

// bounds are the Limits of a service at work.
type bounds struct {
	rates     *limit.Rates
	calls     *limit.Calls
	rows      *limit.Rows
	responses *limit.Budget
}

const (
	callsByDefault    = 256
	queuedForEachCall = 2 // calls that may wait, for each that may be under way
	responseBytes     = 64 << 20
)

func newBounds(s *Service) bounds {
	l := s.Limits
	if l.Calls == 0 {
		l.Calls = callsByDefault
	}
	if l.ResponseBytes == 0 {
		l.ResponseBytes = max(4*l.LargestResponse, min(responseBytes, debug.SetMemoryLimit(-1)/4))
	}
	b := bounds{calls: limit.NewCalls(l.Calls, queuedForEachCall*l.Calls), responses: limit.NewBudget(l.ResponseBytes)}
	if l.Rows > 0 {
		b.rows = limit.NewRows(l.Rows)
	}
	if l.Rate > 0 {
		b.rates = limit.NewRates(l.Rate)
	}
	return b
}

// largeResponse is from where on a response counts against Limits.ResponseBytes.
// Smaller ones are bounded by the number of connections.
const largeResponse = 16 << 10

// admit refuses a request beyond a limit, once its key is known and before its body
// is read.
func (e *edge) admit(x *exchange) error {
	if wait, ok := e.bounds.rates.Allow(x.ctx.caller.ID, x.start); !ok {
		x.keepsUnread()
		return rateLimited(wait)
	}
	if err := e.bounds.calls.CheckRoom(); err != nil {
		x.keepsUnread()
		return unavailable(err)
	}
	return nil
}

// keepsUnread keeps the connection where net/http may skip the unread body. A new
// connection would cost more than the whole request that is refused, and load would
// make more load. net/http skips the body before it sends the response, and waits
// for it for lingerTime at most.
func (x *exchange) keepsUnread() {
	if n := x.Request().ContentLength; x.closesUnread && 0 < n && n <= maxBody {
		x.Response().Header().Del("Connection")
	}
}

// bounded is a middleware of the generated code, around the call of the method. So
// a client that sends or reads slowly keeps no other client from calling.
func (e *edge) bounded(next call) call {
	return func(c echo.Context, request any) (any, error) {
		x := c.(*exchange)
		if err := e.bounds.calls.Begin(&x.ctx); err != nil {
			return nil, unavailable(err)
		}
		defer e.bounds.calls.End()
		if e.bounds.rows != nil {
			rows := e.Rows(request)
			if err := e.bounds.rows.Begin(&x.ctx, x.ctx.caller.ID, rows); err != nil {
				return nil, unavailable(err)
			}
			defer e.bounds.rows.End(rows)
		}
		response, err := next(x, request)
		if err != nil {
			return nil, err
		}
		if sized, ok := response.(interface{ Size() int }); ok {
			if n := int64(sized.Size()); n >= largeResponse {
				if err := e.bounds.responses.Take(x.ctx.caller.ID, n); err != nil {
					return nil, unavailable(err)
				}
				x.responseBytes = n
			}
		}
		return response, nil
	}
}

// giveBack ends what bounded began, once the response is written.
func (e *edge) giveBack(x *exchange) {
	if x.responseBytes > 0 {
		e.bounds.responses.Give(x.ctx.caller.ID, x.responseBytes)
	}
}

// isCrowded reports whether a request was refused for lack of room: a sign of load,
// not a fault.
func isCrowded(err error) bool {
	return errors.Is(err, limit.ErrFull) || errors.Is(err, limit.ErrSpent)
}

func rateLimited(wait time.Duration) *problem {
	return &problem{
		status:  http.StatusTooManyRequests,
		code:    codeRateLimited,
		message: "too many requests with this API key; try again later",
		header:  http.Header{"Retry-After": {strconv.Itoa(int((wait + time.Second - 1) / time.Second))}},
	}
}

var errForeignHost = invalidRequest("this sandbox serves only its own machine: the Host must be localhost, 127.0.0.1, [::1] or that of its public address")

// checkHost refuses the names of other hosts where LocalOrigins is set. Otherwise
// the owner of a name could let it point to this machine (DNS rebinding), and a page
// of that name could use a key that is well known.
func (e *edge) checkHost(r *http.Request) error {
	if !e.LocalOrigins {
		return nil
	}
	host := (&url.URL{Host: r.Host}).Hostname()
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && (ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback)) {
		return nil
	}
	if u, err := url.Parse(e.PublicURL); err == nil && u.Hostname() != "" && u.Hostname() == host {
		return nil
	}
	return errForeignHost
}

package edge

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge/limit"
)

// Limits bound the work of the service at one time. A limit that is nil bounds
// nothing.
type Limits struct {
	Rates     *limit.Rates  // requests a second of an API key
	Calls     *limit.Calls  // calls of Service under way
	Rows      *limit.Rows   // rows that those ask for
	RowsOf    RowsOf        // required with Rows
	Responses *limit.Budget // bytes of large responses that are being written
}

// RowsOf returns how many rows a request of the generated code asks for.
type RowsOf func(request any) int64

// largeResponse is from where on a response counts against Limits.Responses.
// Smaller ones are bounded by the number of connections.
const largeResponse = 16 << 10

// admit refuses a request beyond a limit, once its key is known and before its body
// is read.
func (e *edge) admit(x *exchange) error {
	if wait, ok := e.Limits.Rates.Allow(x.ctx.keyID, x.start); !ok {
		x.keepsUnread()
		return rateLimited(wait)
	}
	if err := e.Limits.Calls.CheckRoom(); err != nil {
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

// bounded is a middleware of the generated code, around the call of the service. So
// a client that sends or reads slowly keeps no other client from calling.
func (e *edge) bounded(next api.StrictHandlerFunc, _ string) api.StrictHandlerFunc {
	return func(c echo.Context, request any) (any, error) {
		x := c.(*exchange)
		if err := e.Limits.Calls.Begin(&x.ctx); err != nil {
			return nil, unavailable(err)
		}
		defer e.Limits.Calls.End()
		if e.Limits.Rows != nil {
			rows := e.Limits.RowsOf(request)
			if err := e.Limits.Rows.Begin(&x.ctx, x.ctx.keyID, rows); err != nil {
				return nil, unavailable(err)
			}
			defer e.Limits.Rows.End(rows)
		}
		response, err := next(x, request)
		if err != nil {
			return nil, err
		}
		if sized, ok := response.(interface{ Size() int }); ok {
			if n := int64(sized.Size()); n >= largeResponse {
				if err := e.Limits.Responses.Take(x.ctx.keyID, n); err != nil {
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
		e.Limits.Responses.Give(x.ctx.keyID, x.responseBytes)
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
	if u, err := url.Parse(e.Base); err == nil && u.Hostname() != "" && u.Hostname() == host {
		return nil
	}
	return errForeignHost
}

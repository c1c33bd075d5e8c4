package edge

import (
	"errors"
	"fmt"

	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/edge/limit"
)

// largeResponse is from where on a response counts against Limits.ResponseBytes.
// Smaller ones are bounded by the number of connections.
const largeResponse = 16 << 10

// keepsUnread keeps the connection where net/http may skip the unread body. A new
// connection would cost more than the whole request that is refused, and load would
// make more load. net/http skips the body before it sends the response, and waits
// for it for lingerTime at most.
func (x *exchange) keepsUnread() {
	if n := x.Request().ContentLength; x.closesUnread && 0 < n && n <= MaxBody {
		x.Response().Header().Del("Connection")
	}
}

// bounded is a middleware of the generated code, around the call of the method. So
// a client that sends or reads slowly keeps no other client from calling. rowsOf may
// be nil.
func bounded(rowsOf func(request any) int64) func(next call) call {
	return func(next call) call {
		return func(c echo.Context, request any) (any, error) {
			x := c.(*exchange)
			var rows int64
			if rowsOf != nil {
				rows = x.pool.rowsOf(rowsOf(request))
			}
			if err := x.pool.enter(&x.ctx, x.payer, rows); err != nil {
				return nil, err
			}
			defer x.pool.leave(rows)
			response, err := next(x, request)
			if err != nil {
				return nil, err
			}
			if sized, ok := response.(interface{ Size() int }); ok {
				return response, x.take(sized.Size())
			}
			x.held = holdBack(x.Response(), x.take)
			return response, nil
		}
	}
}

// take takes the bytes of a large response from the pool.
func (x *exchange) take(size int) error {
	n := int64(size)
	if n < largeResponse {
		return nil
	}
	switch err := x.pool.responses.Take(x.payer, n); {
	case errors.Is(err, limit.ErrTooLarge):
		return internal(fmt.Errorf("a response of %d bytes: %w; raise Limits.LargestResponse, or Limits.ResponseBytes where it is set", n, err))
	case err != nil:
		return unavailable(err)
	}
	x.responseBytes = n
	return nil
}

// giveBack ends what take began, once the response is written.
func (x *exchange) giveBack() {
	if x.responseBytes > 0 {
		x.pool.responses.Give(x.payer, x.responseBytes)
	}
}

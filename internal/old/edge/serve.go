package edge

import (
	"fmt"

	"github.com/labstack/echo/v4"
)

// serve returns the handler of op for its callers: the part of a request's way that
// depends on the document, around the generated code's.
func serve(op *operation, callers *callers, generated echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		x := c.(*exchange) // as recovering passes it
		x.operation = op
		for _, field := range op.deprecation {
			x.Response().Header()[field.name] = field.values
		}
		caller, room, err := callers.identify(x.Request(), op)
		x.ctx.begin(x.Request().Context(), caller, x.start)
		x.claim = room
		if err != nil {
			return err
		}
		defer x.ctx.release()
		x.SetRequest(x.Request().WithContext(&x.ctx))
		if err := x.claim.admit(x.start); err != nil {
			x.keepsUnread()
			return err
		}
		if err := op.validate(x); err != nil {
			return err
		}
		defer x.claim.giveBytes()
		if err := generated(x); err != nil {
			return err
		}
		if !x.Response().Committed {
			return fmt.Errorf("%s: the service returned neither a response nor an error", op.name())
		}
		return nil
	}
}

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
				rows = rowsOf(request)
			}
			if err := x.claim.beginCall(&x.ctx, rows); err != nil {
				return nil, err
			}
			defer x.claim.endCall()
			response, err := next(x, request)
			if err != nil {
				return nil, err
			}
			if sized, ok := response.(interface{ Size() int }); ok {
				return response, x.claim.takeBytes(sized.Size())
			}
			x.held = holdBack(x.Response(), x.claim.takeBytes)
			return response, nil
		}
	}
}

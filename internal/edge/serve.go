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
		if err := callers.identify(x, op); err != nil {
			return err
		}
		defer x.ctx.release()
		x.SetRequest(x.Request().WithContext(&x.ctx))
		if err := x.pool.admit(x.payer, x.start); err != nil {
			x.keepsUnread()
			return err
		}
		if err := op.validate(x); err != nil {
			return err
		}
		defer x.giveBack()
		if err := generated(x); err != nil {
			return err
		}
		if !x.Response().Committed {
			return fmt.Errorf("%s: the service returned neither a response nor an error", op.name())
		}
		return nil
	}
}

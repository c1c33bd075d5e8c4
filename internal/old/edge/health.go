package edge

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// readyTimeout bounds one call of Service.Ready, below what a load balancer
// usually waits.
const readyTimeout = 2 * time.Second

// The paths of the probes.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

func isProbe(path string) bool { return path == livePath || path == readyPath }

// registerHealth adds the probes: /livez says that the process runs, /readyz
// that it can serve, as ready says.
func registerHealth(r *router, ready func(context.Context) error) {
	r.public(livePath, func(c echo.Context) error {
		return writeStatus(c, "alive")
	})
	r.public(readyPath, func(c echo.Context) error {
		ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
		defer cancel()
		if err := ready(ctx); err != nil {
			return notReady(err)
		}
		return writeStatus(c, "ready")
	})
}

// notReady has the reason in the body and in the log, where there is one.
func notReady(err error) *problem {
	p := unavailable(err)
	if n, ok := errors.AsType[*NotReady](err); ok {
		p.message, p.reason = "not ready: "+n.Reason+"; try again later", n.Reason
	}
	return p
}

func writeStatus(c echo.Context, status string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Blob(http.StatusOK, mediaTypeJSON, []byte(`{"status":"`+status+`"}`+"\n"))
}

package edge

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// readyTimeout bounds one look at the store, below what a load balancer
// usually waits.
const readyTimeout = 2 * time.Second

// The paths of the probes.
const (
	livePath  = "/livez"
	readyPath = "/readyz"
)

func isProbe(path string) bool { return path == livePath || path == readyPath }

// registerHealth adds the probes: /livez says that the process runs, /readyz
// that it can serve.
func (e *edge) registerHealth(r *router) {
	r.public(livePath, func(c echo.Context) error {
		return writeStatus(c, "alive")
	})
	r.public(readyPath, func(c echo.Context) error {
		ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
		defer cancel()
		if err := e.Ready(ctx); err != nil {
			return unavailable(err)
		}
		return writeStatus(c, "ready")
	})
}

func writeStatus(c echo.Context, status string) error {
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.Blob(http.StatusOK, mediaTypeJSON, []byte(`{"status":"`+status+`"}`+"\n"))
}

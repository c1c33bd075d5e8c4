package edge

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// addProbes adds /livez, which reports that the process is running, and /readyz,
// which reports whether it can serve requests. It also adds /, which redirects
// browsers to the documentation.
func (s *Server) addProbes() {
	s.addPage("/livez", "livez", func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string]string{"status": "alive"})
	})
	s.addPage("/readyz", "readyz", func(c echo.Context) error {
		if err := s.ready(c.Request().Context()); err != nil {
			p := Unavailable(err)
			p.Message = "not ready; try again later"
			return p
		}
		return c.JSON(http.StatusOK, map[string]string{"status": "ready"})
	})
	s.echo.RouteNotFound("/", func(c echo.Context) error {
		c.Response().Header().Add("Vary", "Accept")
		method := c.Request().Method
		if (method == http.MethodGet || method == http.MethodHead) && strings.Contains(c.Request().Header.Get("Accept"), "text/html") {
			return c.Redirect(http.StatusFound, s.docs)
		}
		return echo.ErrNotFound
	})
}

// addPage adds a page that needs no key.
func (s *Server) addPage(path, name string, h echo.HandlerFunc) {
	s.echo.Match([]string{http.MethodGet, http.MethodHead}, path, func(c echo.Context) error {
		c.Set(operationName, name)
		c.Response().Header().Set("Cache-Control", "no-store")
		return h(c)
	})
}

func (s *Server) ready(ctx context.Context) error {
	if s.stopping.Load() {
		return errors.New("the server is stopping")
	}
	_, err, _ := s.probes.Do("", func() (any, error) { // concurrent probes share one check, because they need no key
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		return nil, s.service.Ready(ctx)
	})
	return err
}

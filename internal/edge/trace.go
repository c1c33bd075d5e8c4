package edge

import (
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/contrib/instrumentation/github.com/labstack/echo/otelecho"
)

// trace starts a span for each request with the global tracer provider, which
// does nothing unless the program has set one.
func (s *Server) trace() echo.MiddlewareFunc {
	return otelecho.Middleware(s.service.Name)
}

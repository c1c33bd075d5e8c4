package edge

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// canonicalPath makes Echo route on the decoded path, so that /pets/%31 is /pets/1,
// unless it has an encoded slash, which is not a separator.
func canonicalPath(u *url.URL) {
	if u.RawPath != "" && !strings.Contains(strings.ToLower(u.RawPath), "%2f") {
		u.RawPath = ""
	}
}

// wholePath returns 404 for a path with extra or empty segments. Echo matches
// such paths, because the last parameter of a route may contain slashes.
func wholePath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		// For a 405 Echo sets the path of the route, but no parameters.
		segments := strings.Count(echo.GetPath(c.Request()), "/")
		if strings.Count(c.Path(), "/") != segments || slices.Contains(c.ParamValues(), "") {
			return echo.ErrNotFound
		}
		return next(c)
	}
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// requestID returns the client's X-Request-Id if it is well-formed, or else a new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get(echo.HeaderXRequestID); id != "" && requestIDForm.MatchString(id) {
		return id
	}
	return rand.Text()
}

// Header values that many responses share. Nobody changes them.
var (
	nosniff = []string{"nosniff"}
	noStore = []string{"no-store"}
)

// commonHeaders sets the headers of every response.
func (s *Server) commonHeaders(next echo.HandlerFunc) echo.HandlerFunc {
	base := s.document.Base
	return func(c echo.Context) error {
		header := c.Response().Header()
		header[echo.HeaderXRequestID] = []string{requestID(c.Request())}
		header[echo.HeaderXContentTypeOptions] = nosniff
		if path := c.Request().URL.Path; path == base || strings.HasPrefix(path, base+"/") {
			header[echo.HeaderCacheControl] = noStore
		}
		if s.stopping.Load() {
			header.Set("Connection", "close")
		}
		return next(c)
	}
}

// recoverPanics turns a panic into an error, with the stack for the log.
func recoverPanics() echo.MiddlewareFunc {
	return middleware.RecoverWithConfig(middleware.RecoverConfig{
		DisableStackAll:     true,
		DisableErrorHandler: true, // accessLog handles it
		LogErrorFunc: func(_ echo.Context, err error, stack []byte) error {
			return internal(fmt.Errorf("panic: %w\n%s", err, stack))
		},
	})
}

// allowLocalOrigins lets web pages on localhost use the service (CORS).
func allowLocalOrigins() echo.MiddlewareFunc {
	return middleware.CORSWithConfig(middleware.CORSConfig{
		Skipper:         func(c echo.Context) bool { return c.Request().Header.Get(echo.HeaderOrigin) == "" },
		AllowOriginFunc: func(origin string) (bool, error) { return localOrigin.MatchString(origin), nil },
		AllowMethods:    []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"},
		AllowHeaders:    []string{"Authorization", "Content-Type", "Idempotency-Key", "X-Request-Id"},
		ExposeHeaders:   []string{"Link", "Location", "X-Request-Id", "Deprecation", "Sunset", "Retry-After", "WWW-Authenticate", "Allow"},
	})
}

var localOrigin = regexp.MustCompile(`^https?://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?$`)

package peers

import (
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
)

// Key is the API key that the equipped server accepts. It opens nothing else.
const Key = "loopback-measuring-key"

// newEquipped returns the handwritten server with Echo's own middlewares for the
// duties of a deployed service. They make request ids, a JSON log and security headers, recover from
// panics, limit bodies, and compare the hash of an API key.
func newEquipped(log io.Writer) (http.Handler, error) {
	hash := sha256.Sum256([]byte(Key))
	logger := slog.New(slog.NewJSONHandler(log, nil))
	e := echo.New()
	e.Use(
		middleware.RequestID(),
		middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
			LogMethod: true, LogRoutePath: true, LogURIPath: true, LogStatus: true, LogResponseSize: true,
			LogLatency: true, LogRequestID: true, LogRemoteIP: true,
			HandleError: true,
			LogValuesFunc: func(c echo.Context, v middleware.RequestLoggerValues) error {
				logger.LogAttrs(c.Request().Context(), slog.LevelInfo, "request",
					slog.String("method", v.Method),
					slog.String("route", v.RoutePath),
					slog.String("path", v.URIPath),
					slog.Int("status", v.Status),
					slog.Int64("bytes", v.ResponseSize),
					slog.Int64("duration_us", v.Latency.Microseconds()),
					slog.String("request_id", v.RequestID),
					slog.String("remote", v.RemoteIP))
				return nil
			},
		}),
		middleware.Recover(),
		middleware.Secure(),
		middleware.BodyLimit("64K"),
		middleware.KeyAuth(func(key string, _ echo.Context) (bool, error) {
			got := sha256.Sum256([]byte(key))
			return subtle.ConstantTimeCompare(got[:], hash[:]) == 1, nil
		}),
	)
	handleByHand(e)
	return e, nil
}

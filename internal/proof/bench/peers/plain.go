package peers

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"example.com/petstore/internal/proof/program"
)

// newEcho returns an Echo server with the middleware that a deployed service
// needs, all from Echo: request IDs, a JSON log, recovery from panics, security
// headers, a body limit, and an API key of which only the hash is kept.
func newEcho(log io.Writer) *echo.Echo {
	hash := sha256.Sum256([]byte(program.Key))
	logger := slog.New(slog.NewJSONHandler(log, nil))
	e := echo.New()
	e.Use(
		middleware.RequestID(),
		middleware.RequestLoggerWithConfig(middleware.RequestLoggerConfig{
			LogMethod: true, LogRoutePath: true, LogURIPath: true, LogStatus: true, LogResponseSize: true, LogLatency: true, LogRequestID: true, LogRemoteIP: true,
			HandleError: true,
			LogValuesFunc: func(c echo.Context, v middleware.RequestLoggerValues) error {
				logger.LogAttrs(c.Request().Context(), slog.LevelInfo, "request",
					slog.String("method", v.Method), slog.String("route", v.RoutePath), slog.String("path", v.URIPath),
					slog.Int("status", v.Status), slog.Int64("bytes", v.ResponseSize), slog.Int64("duration_us", v.Latency.Microseconds()),
					slog.String("request_id", v.RequestID), slog.String("remote", v.RemoteIP))
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
	return e
}

// newPlain returns a server as a team would write it by hand with Echo,
// without an OpenAPI document.
func newPlain(s store, log io.Writer) http.Handler {
	e, h := newEcho(log), plain{s}
	e.GET("/v1/pets", h.list)
	e.POST("/v1/pets", h.create)
	e.GET("/v1/pets/:petId", h.get)
	return e
}

type plain struct{ store store }

func (h plain) list(c echo.Context) error {
	limit, after, status := 20, int64(0), ""
	err := echo.QueryParamsBinder(c).Int("limit", &limit).Int64("after", &after).String("status", &status).BindError()
	if err != nil {
		return refuse(err.Error())
	}
	if limit < 1 || limit > 100 || after < 0 || status != "" && !validStatus(status) {
		return refuse("limit must be between 1 and 100, after 0 or more, status available, pending or sold")
	}
	pets, err := h.store.list(c.Request().Context(), status, after, limit+1)
	if err != nil {
		return err
	}
	if len(pets) > limit {
		pets = pets[:limit]
		c.Response().Header().Set("Link", nextPage(pets, limit, status))
	}
	return c.JSON(http.StatusOK, pets)
}

func (h plain) create(c echo.Context) error {
	var body struct {
		Name       *string `json:"name"`
		CategoryID *int64  `json:"categoryId"`
		Status     *string `json:"status"`
	}
	if err := c.Bind(&body); err != nil {
		return err
	}
	status := or(body.Status, "available")
	if body.Name == nil || body.CategoryID == nil || !validStatus(status) {
		return refuse("name and categoryId are required, and status must be available, pending or sold")
	}
	p, err := h.store.create(c.Request().Context(), Pet{Name: *body.Name, CategoryID: *body.CategoryID, Status: status})
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", fmt.Sprintf("/v1/pets/%d", p.ID))
	return c.JSON(http.StatusCreated, p)
}

func (h plain) get(c echo.Context) error {
	c.Response().Header().Set("Deprecation", deprecation)
	c.Response().Header().Set("Sunset", sunset)
	id, err := strconv.ParseInt(c.Param("petId"), 10, 64)
	if err != nil {
		return refuse("petId must be an integer")
	}
	p, err := h.store.get(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, p)
}

const deprecation, sunset = "@1795219200", "Thu, 05 Dec 2030 00:00:00 GMT"

func refuse(message string) error { return echo.NewHTTPError(http.StatusBadRequest, message) }

func validStatus(s string) bool { return s == "available" || s == "pending" || s == "sold" }

func nextPage(pets []Pet, limit int, status string) string {
	if status != "" {
		status = "&status=" + status
	}
	return fmt.Sprintf(`</v1/pets?limit=%d%s&after=%d>; rel="next"`, limit, status, pets[len(pets)-1].ID)
}

//go:build wrk && linux

package bench

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/proof/program"
)

// pet is the peers' record.
type pet struct {
	ID         int64  `json:"id"`
	Name       string `json:"name"`
	CategoryID int64  `json:"categoryId"`
	Status     string `json:"status"`
}

// store is what a peer keeps pets in.
type store interface {
	create(ctx context.Context, p pet) (pet, error)
	get(ctx context.Context, id int64) (pet, error) // or errNoPet
	list(ctx context.Context, status string, after int64, limit int) ([]pet, error)
}

var errNoPet = echo.NewHTTPError(http.StatusNotFound, "there is no such pet")

func invalid(message string) error { return echo.NewHTTPError(http.StatusBadRequest, message) }

// servePeer serves a peer until the process is killed. address names an empty store:
// "memory:" or "sqlite:PATH".
func servePeer(name, address, addr string) {
	var s store = &memory{}
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		s = openSQLite(path)
	}
	e := newEcho()
	if name == "plain Echo" {
		registerPlain(e, s)
	} else {
		registerDocumented(e, s)
	}
	e.Server.ReadHeaderTimeout, e.Server.ReadTimeout = 5*time.Second, 10*time.Second
	e.Server.WriteTimeout, e.Server.IdleTimeout = 30*time.Second, 2*time.Minute
	log.Fatal(e.Start(addr))
}

// newEcho returns an Echo server with the middleware that a deployed service needs, all
// from Echo: request IDs, a JSON log, recovery from panics, security headers, a body
// limit, and an API key of which only the hash is kept.
func newEcho() *echo.Echo {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	hash := sha256.Sum256([]byte(program.Key))
	e := echo.New()
	e.Use(middleware.RequestID(), middleware.RequestLogger(), middleware.Recover(),
		middleware.Secure(), middleware.BodyLimit("64K"),
		middleware.KeyAuth(func(key string, _ echo.Context) (bool, error) {
			got := sha256.Sum256([]byte(key))
			return subtle.ConstantTimeCompare(got[:], hash[:]) == 1, nil
		}))
	return e
}

// page returns a page of pets, and its Link to the next one, or "" if it is the last.
func page(ctx context.Context, s store, status string, after int64, limit int) (pets []pet, next string, err error) {
	pets, err = s.list(ctx, status, after, limit+1)
	if err != nil || len(pets) <= limit {
		return pets, "", err
	}
	if status != "" {
		status = "&status=" + status
	}
	return pets[:limit], fmt.Sprintf(`</v1/pets?limit=%d%s&after=%d>; rel="next"`, limit, status, pets[limit-1].ID), nil
}

func location(p pet) string { return fmt.Sprintf("/v1/pets/%d", p.ID) }

const deprecation, sunset = "@1795219200", "Thu, 05 Dec 2030 00:00:00 GMT"

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// registerDocumented registers the generated server behind a middleware that finds the
// route and validates the request, as the documentation of oapi-codegen and kin-openapi
// shows.
func registerDocumented(e *echo.Echo, s store) {
	doc := must(openapi3.NewLoader().LoadFromData(gen.Document))
	doc.Servers = openapi3.Servers{{URL: "/v1"}}
	router := must(gorillamux.NewRouter(doc))
	e.Use(func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			route, params, err := router.FindRoute(c.Request())
			if err != nil {
				return echo.NewHTTPError(http.StatusNotFound, err.Error())
			}
			err = openapi3filter.ValidateRequest(c.Request().Context(), &openapi3filter.RequestValidationInput{
				Request:    c.Request(),
				PathParams: params,
				Route:      route,
				Options:    &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
			})
			if err != nil {
				return invalid(err.Error())
			}
			return next(c)
		}
	})
	api.RegisterHandlersWithBaseURL(e, api.NewStrictHandler(documented{store: s}, nil), "/v1")
}

// documented implements the measured operations. Others panic.
type documented struct {
	api.StrictServerInterface
	store store
}

// or returns *p, or otherwise if p is nil.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func toAPI(p pet) api.Pet {
	return api.Pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: new(api.PetStatus(p.Status))}
}

func (d documented) ListPets(ctx context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	pets, next, err := page(ctx, d.store, string(or(r.Params.Status, "")), or(r.Params.After, 0), or(r.Params.Limit, 20))
	if err != nil {
		return nil, err
	}
	response := api.ListPets200JSONResponse{Body: make(api.Pets, len(pets))}
	for i, p := range pets {
		response.Body[i] = toAPI(p)
	}
	if next != "" {
		response.Headers.Link = &next
	}
	return response, nil
}

func (d documented) CreatePet(ctx context.Context, r api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	p := pet{Name: r.Body.Name, CategoryID: r.Body.CategoryID, Status: string(or(r.Body.Status, "available"))}
	p, err := d.store.create(ctx, p)
	if err != nil {
		return nil, err
	}
	return api.CreatePet201JSONResponse{
		Body:    toAPI(p),
		Headers: api.CreatePet201ResponseHeaders{Location: new(location(p))},
	}, nil
}

func (d documented) GetPet(ctx context.Context, r api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	p, err := d.store.get(ctx, r.PetID)
	if err != nil {
		return nil, err
	}
	return api.GetPet200JSONResponse{
		Body:    toAPI(p),
		Headers: api.GetPet200ResponseHeaders{Deprecation: new(deprecation), Sunset: new(sunset)},
	}, nil
}

// registerPlain registers handlers as a team would write them by hand, without an
// OpenAPI document.
func registerPlain(e *echo.Echo, s store) {
	e.GET("/v1/pets", plain{s}.list)
	e.POST("/v1/pets", plain{s}.create)
	e.GET("/v1/pets/:petId", plain{s}.get)
}

type plain struct{ store store }

func valid(status string) bool {
	return status == "available" || status == "pending" || status == "sold"
}

func (h plain) list(c echo.Context) error {
	limit, after, status := 20, int64(0), ""
	err := echo.QueryParamsBinder(c).Int("limit", &limit).Int64("after", &after).String("status", &status).BindError()
	if err != nil {
		return invalid(err.Error())
	}
	if limit < 1 || limit > 100 || after < 0 || status != "" && !valid(status) {
		return invalid("limit must be between 1 and 100, after 0 or more, status available, pending or sold")
	}
	pets, next, err := page(c.Request().Context(), h.store, status, after, limit)
	if err != nil {
		return err
	}
	if next != "" {
		c.Response().Header().Set("Link", next)
	}
	return c.JSON(http.StatusOK, pets)
}

func (h plain) create(c echo.Context) error {
	var body struct {
		Name       *string `json:"name"`
		CategoryID *int64  `json:"categoryId"`
		Status     string  `json:"status"`
	}
	body.Status = "available"
	if err := c.Bind(&body); err != nil {
		return err
	}
	if body.Name == nil || body.CategoryID == nil || !valid(body.Status) {
		return invalid("name and categoryId are required, and status must be available, pending or sold")
	}
	p := pet{Name: *body.Name, CategoryID: *body.CategoryID, Status: body.Status}
	p, err := h.store.create(c.Request().Context(), p)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Location", location(p))
	return c.JSON(http.StatusCreated, p)
}

func (h plain) get(c echo.Context) error {
	id, err := strconv.ParseInt(c.Param("petId"), 10, 64)
	if err != nil {
		return invalid("petId must be an integer")
	}
	p, err := h.store.get(c.Request().Context(), id)
	if err != nil {
		return err
	}
	c.Response().Header().Set("Deprecation", deprecation)
	c.Response().Header().Set("Sunset", sunset)
	return c.JSON(http.StatusOK, p)
}

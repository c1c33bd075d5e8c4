//go:build wrk && linux

package bench

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/db"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/address"
)

// startPeer serves the peer from the store at an address, and returns its own address. It
// has the middleware that a deployed service needs, all from Echo: request IDs, a JSON
// log, recovery from panics, security headers, a body limit, and an API key of which only
// the hash is kept.
func startPeer(b *testing.B, storeAddress string) (addr string) {
	var a address.Address
	if err := a.Set(storeAddress); err != nil {
		b.Fatal(err)
	}
	st := must(a.Open(b.Context(), a.Text, db.Options{}))
	b.Cleanup(func() { _ = st.Close() })
	slog.SetDefault(slog.New(slog.NewJSONHandler(must(os.OpenFile(os.DevNull, os.O_WRONLY, 0)), nil)))
	hash := sha256.Sum256([]byte(program.Key))
	e := echo.New()
	e.Use(middleware.RequestID(), middleware.RequestLogger(), middleware.Recover(),
		middleware.Secure(), middleware.BodyLimit("64K"),
		middleware.KeyAuth(func(key string, _ echo.Context) (bool, error) {
			got := sha256.Sum256([]byte(key))
			return subtle.ConstantTimeCompare(got[:], hash[:]) == 1, nil
		}), validate())
	api.RegisterHandlersWithBaseURL(e, api.NewStrictHandler(peer{store: st}, nil), "/v1")
	s := httptest.NewUnstartedServer(e)
	s.Config.ReadHeaderTimeout, s.Config.ReadTimeout = 5*time.Second, 10*time.Second
	s.Config.WriteTimeout, s.Config.IdleTimeout = 30*time.Second, 2*time.Minute
	s.Start()
	b.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// validate returns a middleware that finds the route and validates the request, as
// oapi-codegen's own does: github.com/oapi-codegen/echo-middleware, which cannot be had
// as a module.
func validate() echo.MiddlewareFunc {
	document := must(openapi3.NewLoader().LoadFromData(gen.Document))
	document.Servers = openapi3.Servers{{URL: "/v1"}}
	router := must(gorillamux.NewRouter(document))
	return func(next echo.HandlerFunc) echo.HandlerFunc {
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
				return echo.NewHTTPError(http.StatusBadRequest, err.Error())
			}
			return next(c)
		}
	}
}

// peer implements the measured operations. Others panic.
type peer struct {
	api.StrictServerInterface
	store pets.Store
}

func (s peer) ListPets(ctx context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	q := pets.Query{Limit: *r.Params.Limit, After: *r.Params.After}
	if r.Params.Status != nil {
		q.Status = pets.Status(*r.Params.Status)
	}
	page, err := s.store.Pets(ctx, q)
	if err != nil {
		return nil, err
	}
	response := api.ListPets200JSONResponse{Body: make(api.Pets, len(page.Pets))}
	for i, p := range page.Pets {
		response.Body[i] = toAPI(p)
	}
	if page.More {
		next := fmt.Sprintf("</v1/pets?limit=%d", q.Limit)
		if q.Status != "" {
			next += "&status=" + string(q.Status)
		}
		next += fmt.Sprintf(`&after=%d>; rel="next"`, page.Pets[len(page.Pets)-1].ID)
		response.Headers.Link = &next
	}
	return response, nil
}

func (s peer) CreatePet(ctx context.Context, r api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	n := pets.NewPet{Name: r.Body.Name, CategoryID: r.Body.CategoryID, Status: pets.Status(*r.Body.Status)}
	p, err := s.store.CreatePet(ctx, n, pets.IdempotencyKey{})
	if err != nil {
		return nil, err
	}
	return api.CreatePet201JSONResponse{
		Body:    toAPI(p),
		Headers: api.CreatePet201ResponseHeaders{Location: new(fmt.Sprintf("/v1/pets/%d", p.ID))},
	}, nil
}

func (s peer) GetPet(ctx context.Context, r api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	p, err := s.store.Pet(ctx, r.PetID)
	if err != nil {
		return nil, err
	}
	return api.GetPet200JSONResponse{
		Body: toAPI(p),
		Headers: api.GetPet200ResponseHeaders{
			Deprecation: new("@1795219200"), Sunset: new("Thu, 05 Dec 2030 00:00:00 GMT"),
		},
	}, nil
}

func toAPI(p pets.Pet) api.Pet {
	return api.Pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: new(api.PetStatus(p.Status))}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

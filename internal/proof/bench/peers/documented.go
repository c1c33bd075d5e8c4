package peers

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/labstack/echo/v4"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
)

// newDocumented returns the generated server behind the middleware of newEcho and
// one that finds the route and validates the request, as the documentation of
// oapi-codegen and kin-openapi shows.
func newDocumented(s store, log io.Writer) http.Handler {
	doc := must(openapi3.NewLoader().LoadFromData(gen.Document))
	doc.Servers = openapi3.Servers{{URL: "/v1"}}
	router := must(gorillamux.NewRouter(doc))
	e := newEcho(log)
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
				return refuse(err.Error())
			}
			return next(c)
		}
	})
	api.RegisterHandlersWithBaseURL(e, api.NewStrictHandler(documented{store: s}, nil), "/v1")
	return e
}

// documented implements the measured operations. The others panic.
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

func toAPI(p Pet) api.Pet {
	return api.Pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: new(api.PetStatus(p.Status))}
}

func (d documented) ListPets(ctx context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	limit, status, after := or(r.Params.Limit, 20), string(or(r.Params.Status, "")), or(r.Params.After, 0)
	pets, err := d.store.list(ctx, status, after, limit+1)
	if err != nil {
		return nil, err
	}
	var response api.ListPets200JSONResponse
	if len(pets) > limit {
		pets = pets[:limit]
		response.Headers.Link = new(nextPage(pets, limit, status))
	}
	response.Body = make(api.Pets, len(pets))
	for i, p := range pets {
		response.Body[i] = toAPI(p)
	}
	return response, nil
}

func (d documented) CreatePet(ctx context.Context, r api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	p := Pet{Name: r.Body.Name, CategoryID: r.Body.CategoryID, Status: string(or(r.Body.Status, "available"))}
	p, err := d.store.create(ctx, p)
	if err != nil {
		return nil, err
	}
	var response api.CreatePet201JSONResponse
	response.Body, response.Headers.Location = toAPI(p), new(fmt.Sprintf("/v1/pets/%d", p.ID))
	return response, nil
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

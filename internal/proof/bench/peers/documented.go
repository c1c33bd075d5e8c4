package peers

import (
	"context"
	"io"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/labstack/echo/v4"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
)

// newDocumented returns the stack as its documentation puts it together: one
// middleware that finds the route and validates, then the generated server.
func newDocumented(io.Writer) (http.Handler, error) {
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		return nil, err
	}
	doc.Servers = openapi3.Servers{{URL: "/v1"}}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		return nil, err
	}
	e := echo.New()
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
				return echo.NewHTTPError(http.StatusBadRequest, err.Error())
			}
			return next(c)
		}
	})
	api.RegisterHandlersWithBaseURL(e, api.NewStrictHandler(&documented{catalogue: newCatalogue()}, nil), "/v1")
	return e, nil
}

// documented implements the operations that are measured; any other would panic.
type documented struct {
	api.StrictServerInterface
	*catalogue
}

func toAPI(p pet) api.Pet {
	return api.Pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: new(api.PetStatus(p.Status))}
}

func (d *documented) ListPets(_ context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	limit, status := 20, ""
	if r.Params.Limit != nil {
		limit = *r.Params.Limit
	}
	if r.Params.Status != nil {
		status = string(*r.Params.Status)
	}
	pets := d.list(status, limit)
	out := make(api.Pets, len(pets))
	for i, p := range pets {
		out[i] = toAPI(p)
	}
	return api.ListPets200JSONResponse{Body: out}, nil
}

func (d *documented) CreatePet(_ context.Context, r api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	p := pet{Name: r.Body.Name, CategoryID: r.Body.CategoryID, Status: "available"}
	if r.Body.Status != nil {
		p.Status = string(*r.Body.Status)
	}
	return api.CreatePet201JSONResponse{PetCreatedJSONResponse: api.PetCreatedJSONResponse{Body: toAPI(d.add(p))}}, nil
}

func (d *documented) GetPet(_ context.Context, r api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	p, ok := d.get(r.PetID)
	if !ok {
		return api.GetPet404JSONResponse{}, nil
	}
	return api.GetPet200JSONResponse{PetFoundJSONResponse: api.PetFoundJSONResponse{Body: toAPI(p)}}, nil
}

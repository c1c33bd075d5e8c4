package program

import (
	"context"
	"net/http"
	"net/http/httptest"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/service"
)

// Keys that the service of NewHandler accepts beside Key.
const (
	OtherKey    = "another-api-key-for-the-tests"
	ReadOnlyKey = "a-read-only-key-for-the-tests"
)

// NewHandler returns the service on a store, without a process around it.
func NewHandler(store pets.PetStore) (http.Handler, error) {
	document, err := edge.ParseDocument(gen.Document)
	if err != nil {
		return nil, err
	}
	callers := map[string]edge.Caller{Key: {ID: "main"}, OtherKey: {ID: "other"}, ReadOnlyKey: {ID: "reader", ReadOnly: true}}
	methods := service.New(store, document.Base, func(ctx context.Context) string { return edge.CallerOf(ctx).ID })
	return edge.New(edge.Service{
		Name:     "petstore",
		Version:  "test",
		Document: document,
		Register: func(r edge.Router, base string, operations map[string][]echo.MiddlewareFunc) {
			api.RegisterHandlersWithOptions(r, api.NewStrictHandler(methods, nil), api.RegisterHandlersOptions{BaseURL: base, OperationMiddlewares: operations})
		},
		Authenticate: func(_ context.Context, key string) (edge.Caller, error) {
			caller, ok := callers[key]
			if !ok {
				return edge.Caller{}, &edge.InvalidKey{Reason: "unknown"}
			}
			return caller, nil
		},
		Problem: service.Problem,
		Ready:   func(context.Context) error { return nil },
		Weight:  service.Weight,
	}, edge.Options{})
}

// NewServer serves a handler on a port of this machine until Close.
func NewServer(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.DisableGeneralOptionsHandler = true
	s.Start()
	return s
}

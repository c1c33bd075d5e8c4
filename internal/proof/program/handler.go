package program

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/service"
)

// NewHandler returns the service on a store, without a process around it. It
// accepts Key and the keys of the store. log may be nil.
func NewHandler(store pets.Store, log *slog.Logger) (*edge.Server, error) {
	document, err := edge.ParseDocument(gen.Document)
	if err != nil {
		return nil, err
	}
	ring, err := keys.NewKeyring(store, []string{Key}, time.Now)
	if err != nil {
		return nil, err
	}
	tell := map[keys.Refusal]string{keys.Expired: "the API key has expired", keys.Revoked: "the API key was revoked"}
	methods := service.New(store, document.Base, func(ctx context.Context) string { return edge.CallerOf(ctx).ID })
	return edge.New(edge.Service{
		Name:     "petstore",
		Version:  "test",
		Document: document,
		Register: func(r edge.Router, base string, operations map[string][]echo.MiddlewareFunc) {
			api.RegisterHandlersWithOptions(r, api.NewStrictHandler(methods, nil), api.RegisterHandlersOptions{BaseURL: base, OperationMiddlewares: operations})
		},
		Authenticate: func(ctx context.Context, key string) (edge.Caller, error) {
			grant, refusal, err := ring.Authenticate(ctx, key)
			if err == nil && refusal != keys.Accepted {
				err = &edge.InvalidKey{KeyID: grant.KeyID, Reason: string(refusal), Tell: tell[refusal]}
			}
			return edge.Caller{ID: grant.KeyID, ReadOnly: grant.ReadOnly}, err
		},
		Problem: service.Problem,
		Ready:   store.Ping,
		Weight:  service.Weight,
	}, edge.Options{Logger: log})
}

// NewServer serves a handler on a port of this machine until Close.
func NewServer(h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.Config.DisableGeneralOptionsHandler = true
	s.Start()
	return s
}

package service

import (
	"context"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

// Edge returns a server of the document's operations on a store. It accepts the
// keys of the keyring.
func Edge(store pets.Store, keyring *keys.Keyring, version string, o edge.Options) (*edge.Server, error) {
	document, err := edge.ParseDocument(gen.Document)
	if err != nil {
		return nil, err
	}
	base := document.Base
	if o.PublicURL != "" {
		base = o.PublicURL
	}
	handler := api.NewStrictHandler(New(store, base, func(ctx context.Context) string { return edge.CallerOf(ctx).ID }), nil)
	return edge.New(edge.Service{
		Name:     "petstore",
		Version:  version,
		Document: document,
		Register: func(e *echo.Echo, base string, operations map[string][]echo.MiddlewareFunc) {
			api.RegisterHandlersWithOptions(e, handler, api.RegisterHandlersOptions{BaseURL: base, OperationMiddlewares: operations})
		},
		Authenticate: func(ctx context.Context, key string) (edge.Caller, error) { return authenticate(ctx, keyring, key) },
		Problem:      Problem,
		Ready:        store.Ping,
		Weight:       Weight,
	}, o)
}

func authenticate(ctx context.Context, keyring *keys.Keyring, key string) (edge.Caller, error) {
	grant, refusal, err := keyring.Authenticate(ctx, key)
	if err != nil || refusal == keys.Accepted {
		return edge.Caller{ID: grant.KeyID, ReadOnly: grant.ReadOnly}, err
	}
	invalid := &edge.InvalidKey{KeyID: grant.KeyID, Reason: string(refusal)}
	switch refusal {
	case keys.Expired:
		invalid.Tell = "the API key has expired"
	case keys.Revoked:
		invalid.Tell = "the API key was revoked"
	}
	return edge.Caller{}, invalid
}

// BodyDecoder returns a function that validates and decodes a body as createPet
// does.
func BodyDecoder() (func(body []byte) (pets.NewPet, error), error) {
	document, err := edge.ParseDocument(gen.Document)
	if err != nil {
		return nil, err
	}
	return func(body []byte) (pets.NewPet, error) {
		var p api.NewPet
		if err := document.DecodeBody("createPet", body, &p); err != nil {
			return pets.NewPet{}, err
		}
		return NewPet(p), nil
	}, nil
}

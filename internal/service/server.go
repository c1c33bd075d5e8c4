package service

import (
	"cmp"
	"context"
	"errors"

	"github.com/labstack/echo/v4"

	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/pets"
)

// Name is the name of the service: the program, its metrics and the realm of its
// challenges.
const Name = "petstore"

// NewServer returns a server of the document's operations on store. Requests are
// authenticated by keyring.
func NewServer(store pets.Store, keyring *keys.Keyring, version string, o edge.Options) (*edge.Server, error) {
	document, err := edge.ParseDocument(gen.Document)
	if err != nil {
		return nil, err
	}
	handler := api.NewStrictHandler(&Service{store: store, base: cmp.Or(o.PublicURL, document.Base)}, nil)
	return edge.New(edge.Service{
		Name:     Name,
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

func authenticate(ctx context.Context, keyring *keys.Keyring, token string) (edge.Caller, error) {
	key, err := keyring.Authenticate(ctx, token)
	refusal, ok := errors.AsType[*keys.Refusal](err)
	if !ok {
		return edge.Caller{ID: key.ID, ReadOnly: key.ReadOnly}, err
	}
	invalid := &edge.InvalidKey{KeyID: refusal.KeyID, Reason: string(refusal.Reason)}
	switch refusal.Reason {
	case keys.Expired:
		invalid.Message = "the API key has expired"
	case keys.Revoked:
		invalid.Message = "the API key was revoked"
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

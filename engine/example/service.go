package main

import (
	"context"
	"crypto/sha256"

	"github.com/labstack/echo/v4"

	"example.com/clinic/gen"
	"example.com/clinic/gen/api"
	"example.com/petstore/engine/docs"
	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/fault"
)

// service implements edge.Service.
type service struct {
	operations api.ServerInterface // generated: decodes requests and calls the operations
	store      Store
	fixed      map[[sha256.Size]byte]edge.Caller // by the hash of the key
	tokens     *Tokens                           // nil if none are accepted
}

// NewHandler returns the handler of the operations on store. It accepts fixed keys, which must be
// hard to guess, and tokens, if any.
func NewHandler(store Store, fixed map[string]edge.Caller, tokens *Tokens, o edge.Options) (*edge.Handler, error) {
	document, err := edge.ParseDocument(gen.Document, gen.DocumentJSON)
	if err != nil {
		return nil, err
	}
	o.Name, o.Docs = "clinic", docs.New(document, o.PublicURL)
	s := &service{store: store, fixed: map[[sha256.Size]byte]edge.Caller{}, tokens: tokens}
	s.operations = api.NewStrictHandler(&operations{store: store, base: document.Base}, nil)
	for key, caller := range fixed {
		s.fixed[sha256.Sum256([]byte(key))] = caller
	}
	return edge.New(document, s, o)
}

func (s *service) Register(e *echo.Echo, base string, middleware map[string][]echo.MiddlewareFunc) {
	api.RegisterHandlersWithOptions(e, s.operations,
		api.RegisterHandlersOptions{BaseURL: base, OperationMiddlewares: middleware})
}

// Authenticate implements edge.Service. A table of keys would be a keys.Store and a keys.Keyring.
func (s *service) Authenticate(_ context.Context, token string) (edge.Caller, error) {
	if caller, ok := s.fixed[sha256.Sum256([]byte(token))]; ok {
		return caller, nil
	}
	if s.tokens != nil {
		return s.tokens.Authenticate(token)
	}
	return edge.Caller{}, &fault.Error{Kind: fault.Unauthorized, Reason: "unknown"}
}

func (s *service) ErrorBody(kind fault.Kind, message string) any {
	return api.Error{Code: kind.Code, Message: message, Status: kind.Status}
}

func (s *service) Ready(ctx context.Context) error { return s.store.Ping(ctx) }

package service

import (
	"cmp"
	"context"
	"strings"

	"github.com/labstack/echo/v4"

	"example.com/petstore/engine/docs"
	"example.com/petstore/engine/edge"
	"example.com/petstore/engine/fault"
	"example.com/petstore/engine/keys"
	"example.com/petstore/gen"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// Name is the name of the service: the program, its metrics and the realm of its challenges.
const Name = "petstore"

// KeyPrefix begins each API key.
const KeyPrefix = "psk"

// Limits of a request. TestLimits compares openapi.yaml and deploy/ with them. A process that is
// stopping waits 9 s for requests, so Timeout must be less.
const (
	MaxBody = edge.DefaultMaxBody // bytes
	Timeout = edge.DefaultTimeout
)

type service struct {
	operations api.ServerInterface // generated: decodes requests and calls Operations
	store      pets.Store
	keyring    *keys.Keyring
}

// NewHandler returns the handler of the document's operations on store. The keyring authenticates
// requests. The document's base path is appended to the public address if missing.
func NewHandler(store pets.Store, keyring *keys.Keyring, o edge.Options) (*edge.Handler, error) {
	document, err := edge.ParseDocument(gen.Document, gen.DocumentJSON)
	if err != nil {
		return nil, err
	}
	o.Name, o.MaxBody, o.Timeout = Name, MaxBody, Timeout
	if o.PublicURL != "" {
		o.PublicURL = strings.TrimSuffix(strings.TrimRight(o.PublicURL, "/"), document.Base) + document.Base
	}
	o.Docs = docs.New(document, o.PublicURL)
	handler := api.NewStrictHandler(Operations(store, cmp.Or(o.PublicURL, document.Base)), nil)
	return edge.New(document, &service{handler, store, keyring}, o)
}

func (s *service) Register(e *echo.Echo, base string, middleware map[string][]echo.MiddlewareFunc) {
	api.RegisterHandlersWithOptions(e, s.operations,
		api.RegisterHandlersOptions{BaseURL: base, OperationMiddlewares: middleware})
}

func (s *service) Authenticate(ctx context.Context, token string) (edge.Caller, error) {
	key, err := s.keyring.Authenticate(ctx, token)
	return edge.Caller{ID: key.ID, MayWrite: !key.ReadOnly}, err
}

// ErrorBody does not compile if the document changes the properties of Error.
func (s *service) ErrorBody(kind fault.Kind, message string) any {
	return api.Error(struct {
		Code, Message string
		Status        int
	}{kind.Code, message, kind.Status})
}

func (s *service) Ready(ctx context.Context) error { return s.store.Ping(ctx) }

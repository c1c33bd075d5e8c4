package service

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

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

var _ edge.Service = (*service)(nil)

// service is what the edge needs beside the operations.
type service struct {
	operations api.ServerInterface
	store      pets.Store
	keyring    *keys.Keyring
}

// NewHandler returns the handler of the document's operations on store. Requests are
// authenticated by keyring. The public address may lack the document's base path.
func NewHandler(store pets.Store, keyring *keys.Keyring, o edge.Options) (*edge.Handler, error) {
	document, err := edge.ParseDocument(gen.Document)
	if err != nil {
		return nil, err
	}
	o.Name = Name
	if o.PublicURL != "" {
		o.PublicURL = strings.TrimSuffix(strings.TrimRight(o.PublicURL, "/"), document.Base) + document.Base
	}
	defaultLimit, err := document.Default("listPets", "limit")
	if err != nil {
		return nil, err
	}
	handler := api.NewStrictHandler(&operations{store, cmp.Or(o.PublicURL, document.Base), defaultLimit}, nil)
	return edge.New(document, &service{handler, store, keyring}, o)
}

// Register implements edge.Service.
func (s *service) Register(e *echo.Echo, base string, middleware map[string][]echo.MiddlewareFunc) {
	api.RegisterHandlersWithOptions(e, s.operations,
		api.RegisterHandlersOptions{BaseURL: base, OperationMiddlewares: middleware})
}

// Authenticate implements edge.Service.
func (s *service) Authenticate(ctx context.Context, token string) (edge.Caller, error) {
	key, err := s.keyring.Authenticate(ctx, token)
	if refusal, ok := errors.AsType[*keys.Refusal](err); ok {
		problem := &edge.Problem{Reason: string(refusal.Reason), Message: refusals[refusal.Reason]}
		return edge.Caller{ID: refusal.KeyID}, problem
	}
	return edge.Caller{ID: key.ID, ReadOnly: key.ReadOnly}, err
}

// refusals are the messages for keys that once worked.
var refusals = map[keys.State]string{
	keys.Expired: "the API key has expired",
	keys.Revoked: "the API key was revoked",
}

// problems are the responses to the kinds of errors; see edge.Unavailable for
// pets.Unavailable. Any other kind is a 500.
var problems = map[pets.Kind]edge.Problem{
	pets.Invalid:  {Status: http.StatusBadRequest, Code: "invalid_body"},
	pets.NotFound: {Status: http.StatusNotFound, Code: "not_found"},
	pets.Reused:   {Status: http.StatusUnprocessableEntity, Code: "idempotency_key_reused"},
}

// Problem implements edge.Service.
func (s *service) Problem(err error) *edge.Problem {
	e, ok := errors.AsType[*pets.Error](err)
	if ok && e.Kind == pets.Unavailable {
		return edge.Unavailable(err)
	}
	p, known := problems[pets.KindOf(err)]
	if !known {
		return nil
	}
	p.Message, p.Cause = e.Message, err
	return &p
}

// ErrorBody implements edge.Service. It does not compile if the document changes
// the properties of Error.
func (s *service) ErrorBody(p *edge.Problem) any {
	return api.Error(struct {
		Code, Message string
		Status        int
	}{p.Code, p.Message, p.Status})
}

// Ready implements edge.Service.
func (s *service) Ready(ctx context.Context) error { return s.store.Ping(ctx) }

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

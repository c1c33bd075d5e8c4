// Package service implements the strict interface that oapi-codegen generates
// from the document: one method for each operationId. The methods rely on requests
// being validated, and return either a generated success response or an error,
// which Problem maps to HTTP.
package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
)

var _ api.StrictServerInterface = (*Service)(nil)

// defaultLimit is the default limit of listPets in the document. It is applied
// here because validation does not set defaults.
const defaultLimit = 20

// Service implements the operations on a store.
type Service struct {
	store pets.Store
	base  string // of links in responses, such as /v1
}

// ListPets implements the operation listPets.
func (s *Service) ListPets(ctx context.Context, request api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	q := query(request.Params)
	page, err := s.store.Pets(ctx, q)
	if err != nil {
		return nil, err
	}
	response := api.ListPets200JSONResponse{Body: make(api.Pets, len(page.Pets))}
	for i, p := range page.Pets {
		response.Body[i] = toPet(p)
	}
	if page.More {
		link := s.nextLink(q, page.Pets[len(page.Pets)-1].ID)
		response.Headers.Link = &link
	}
	return response, nil
}

// CreatePet implements the operation createPet.
func (s *Service) CreatePet(ctx context.Context, request api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	p := NewPet(*request.Body)
	if key := request.Params.IdempotencyKey; key != nil {
		p.Idempotency = pets.Idempotency{KeyID: edge.CallerOf(ctx).ID, Key: unquote(*key)}
	}
	created, err := s.store.CreatePet(ctx, p)
	if err != nil {
		return nil, err
	}
	location := s.base + "/pets/" + strconv.FormatInt(created.ID, 10)
	return api.CreatePet201JSONResponse{PetCreatedJSONResponse: api.PetCreatedJSONResponse{
		Body:    toPet(created),
		Headers: api.PetCreatedResponseHeaders{Location: &location},
	}}, nil
}

// GetPet implements the operation getPet.
func (s *Service) GetPet(ctx context.Context, request api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	p, err := s.store.Pet(ctx, request.PetID)
	if err != nil {
		return nil, err
	}
	return api.GetPet200JSONResponse{Body: toPet(p)}, nil
}

// Weight returns the weight of a listPets request: its limit if that is above the
// default, or else 0.
func Weight(query url.Values) int64 {
	limit, err := strconv.ParseInt(query.Get("limit"), 10, 64)
	if err != nil || limit <= defaultLimit || limit > 100 {
		return 0
	}
	return limit
}

// Problem returns the status, code and message of the response for an error of
// a store.
func Problem(err error) (status int, code, message string) {
	e, ok := errors.AsType[*pets.Error](err)
	if !ok {
		return 0, "", ""
	}
	switch e.Kind {
	case pets.Invalid:
		return http.StatusBadRequest, "invalid_body", e.Message
	case pets.NotFound:
		return http.StatusNotFound, "not_found", e.Message
	case pets.Reused:
		return http.StatusUnprocessableEntity, "idempotency_key_reused", e.Message
	case pets.Unavailable:
		return http.StatusServiceUnavailable, "unavailable", ""
	}
	return 0, "", ""
}

// nextLink returns the Link (RFC 8288) to the page that follows the pet with the ID
// last.
func (s *Service) nextLink(q pets.Query, last int64) string {
	status := ""
	if q.Status != "" {
		status = "&status=" + string(q.Status)
	}
	return fmt.Sprintf(`<%s/pets?limit=%d%s&after=%d>; rel="next"`, s.base, q.Limit, status, last)
}

// unquote returns an Idempotency-Key without the quotes and escapes of RFC 9651,
// section 3.3.3. Its form has been validated.
func unquote(key string) string {
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(strings.TrimSuffix(quoted, `"`))
	}
	return key
}

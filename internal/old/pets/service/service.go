// Package service implements the strict interface generated from the document:
// one method an operationId, context in, response out. It validates nothing the
// document already does, and knows neither Echo nor how errors become responses:
// a method returns a success or an error with a kind.
package service

import (
	"context"
	"strconv"

	"example.com/petstore/internal/old/gen/api"
	"example.com/petstore/internal/old/pets"
)

var _ api.StrictServerInterface = (*Service)(nil)

// defaultLimit is the document's default of listPets' limit; a test holds the
// two together. Defaults are applied here since the validator leaves the
// request as it came.
const defaultLimit = 20

// Service serves the operations from a store. It remembers responses that the store
// says are final.
type Service struct {
	store pets.PetStore
	final bool // whether responses may be remembered
	base  string
	// caller returns the ID of the API key of a method's context.
	caller func(context.Context) string
	pets   cache[int64, *got]
	pages  cache[pets.Query, *listed]
}

// New returns a service on store. Links in its responses begin with base, the
// path or address that ends in /v1. caller returns the ID of the API key with which
// a method was called.
func New(store pets.PetStore, base string, caller func(context.Context) string) *Service {
	return &Service{store: store, final: store.Final(), base: base, caller: caller}
}

// ListPets implements listPets.
func (s *Service) ListPets(ctx context.Context, request api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	q := toQuery(request.Params)
	if known, ok := s.pages.get(q); ok {
		return known, nil
	}
	page, err := s.store.Pets(ctx, q)
	if err != nil {
		return nil, err
	}
	response := &listed{pets: page.Pets}
	if !page.More {
		return response, nil
	}
	response.link = []string{s.nextLink(q, page.Pets[len(page.Pets)-1].ID)}
	if s.final && response.Size() <= maxPage {
		response.encode()
		s.pages.put(q, response, cap(response.body)+entryCost)
	}
	return response, nil
}

// CreatePet implements createPet.
func (s *Service) CreatePet(ctx context.Context, request api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	p := NewPet(*request.Body)
	if request.Params.IdempotencyKey != nil {
		p.Idempotency = pets.Idempotency{KeyID: s.caller(ctx), Key: bare(*request.Params.IdempotencyKey)}
	}
	pet, err := s.store.CreatePet(ctx, p)
	if err != nil {
		return nil, err
	}
	return &created{body: encodePet(&pet), location: s.base + "/pets/" + strconv.FormatInt(pet.ID, 10)}, nil
}

// GetPet implements getPet.
func (s *Service) GetPet(ctx context.Context, request api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	if known, ok := s.pets.get(request.PetID); ok {
		return known, nil
	}
	pet, err := s.store.Pet(ctx, request.PetID)
	if err != nil {
		return nil, err
	}
	response := &got{encodePet(&pet)}
	if s.final {
		s.pets.put(pet.ID, response, cap(response.body)+entryCost)
	}
	return response, nil
}

// nextLink announces the page after the one that ended with last (RFC 8288).
func (s *Service) nextLink(q pets.Query, last int64) string {
	b := make([]byte, 0, 128)
	b = append(b, '<')
	b = append(b, s.base...)
	b = append(b, "/pets?limit="...)
	b = strconv.AppendInt(b, int64(q.Limit), 10)
	if q.Status != "" {
		b = append(b, "&status="...)
		b = append(b, q.Status...)
	}
	b = append(b, "&after="...)
	b = strconv.AppendInt(b, last, 10)
	return string(append(b, `>; rel="next"`...))
}

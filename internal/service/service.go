// Package service implements the strict interface that oapi-codegen generates from the document:
// one method for each operationId. The methods rely on requests being validated, and return either
// a generated success response or an error with a kind of package fault, which edge maps to HTTP.
package service

import (
	"context"
	"strconv"
	"strings"

	"example.com/petstore/engine/edge"
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// operations implements the operations of the document.
type operations struct {
	store pets.Store
	base  string // of links in responses, such as /v1
}

// defaultLimit is the default of the limit of listPets in the document.
const defaultLimit = 20

// Operations returns the operations on store. base begins the links in responses.
func Operations(store pets.Store, base string) api.StrictServerInterface {
	return &operations{store, base}
}

func (o *operations) ListPets(ctx context.Context, r api.ListPetsRequestObject) (api.ListPetsResponseObject, error) {
	params := r.Params
	q := pets.ListQuery{
		Limit:  valueOr(params.Limit, defaultLimit),
		Status: pets.Status(valueOr(params.Status, "")),
		After:  valueOr(params.After, 0),
	}
	page, err := o.store.Pets(ctx, q)
	if err != nil {
		return nil, err
	}
	response := api.ListPets200JSONResponse{Body: make(api.Pets, len(page.Pets))}
	for i := range page.Pets {
		response.Body[i] = toPet(&page.Pets[i])
	}
	if page.More {
		response.Headers.Link = new(o.nextLink(q, page.Pets[len(page.Pets)-1].ID))
	}
	return response, nil
}

func (o *operations) CreatePet(ctx context.Context, r api.CreatePetRequestObject) (api.CreatePetResponseObject, error) {
	var key pets.IdempotencyKey
	if r.Params.IdempotencyKey != nil {
		key = pets.IdempotencyKey{KeyID: edge.CallerOf(ctx).ID, Key: unquote(*r.Params.IdempotencyKey)}
	}
	created, err := o.store.CreatePet(ctx, newPet(*r.Body), key)
	if err != nil {
		return nil, err
	}
	location := o.base + "/pets/" + strconv.FormatInt(created.ID, 10)
	return api.CreatePet201JSONResponse{
		Body:    toPet(&created),
		Headers: api.CreatePet201ResponseHeaders{Location: &location},
	}, nil
}

func (o *operations) GetPet(ctx context.Context, r api.GetPetRequestObject) (api.GetPetResponseObject, error) {
	p, err := o.store.Pet(ctx, r.PetID)
	if err != nil {
		return nil, err
	}
	return api.GetPet200JSONResponse{Body: toPet(&p)}, nil
}

// nextLink returns the Link (RFC 8288) to the page that follows the pet with the ID last.
func (o *operations) nextLink(q pets.ListQuery, last int64) string {
	status := ""
	if q.Status != "" {
		status = "&status=" + string(q.Status)
	}
	return "<" + o.base + "/pets?limit=" + strconv.Itoa(q.Limit) + status +
		"&after=" + strconv.FormatInt(last, 10) + `>; rel="next"`
}

// unquote returns an Idempotency-Key without the quotes and escapes of RFC 9651,
// section 3.3.3. Its form has been validated.
func unquote(key string) string {
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(strings.TrimSuffix(quoted, `"`))
	}
	return key
}

// newPet returns the pet that a request body describes, with defaults.
func newPet(body api.NewPet) pets.NewPet {
	status := pets.Status(valueOr(body.Status, ""))
	return pets.NewPet{Name: body.Name, CategoryID: body.CategoryID, Status: status}.WithDefaults()
}

// toPet converts a pet to its response type, which points to the status of p. It does not
// compile if the document adds a property.
func toPet(p *pets.Pet) api.Pet {
	return api.Pet(struct {
		ID         int64
		Name       string
		CategoryID int64
		Status     *api.PetStatus
	}{p.ID, p.Name, p.CategoryID, (*api.PetStatus)(&p.Status)})
}

// valueOr returns *p, or otherwise if p is nil.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

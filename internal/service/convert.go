package service

import (
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// NewPet returns the pet that a request body describes, with defaults.
func NewPet(body api.NewPet) pets.NewPet {
	p := pets.NewPet{Name: body.Name, CategoryID: body.CategoryID}
	if body.Status != nil {
		p.Status = pets.Status(*body.Status)
	}
	return p.WithDefaults()
}

// toPet converts a pet to its response type, which refers to its status. It does not
// compile if the document adds a property.
func toPet(p *pets.Pet) api.Pet {
	return api.Pet(struct {
		ID         int64
		Name       string
		CategoryID int64
		Status     *api.PetStatus
	}{p.ID, p.Name, p.CategoryID, (*api.PetStatus)(&p.Status)})
}

func (o *operations) query(params api.ListPetsParams) pets.Query {
	q := pets.Query{Limit: o.defaultLimit}
	if params.Limit != nil {
		q.Limit = *params.Limit
	}
	if params.Status != nil {
		q.Status = pets.Status(*params.Status)
	}
	if params.After != nil {
		q.After = *params.After
	}
	return q
}

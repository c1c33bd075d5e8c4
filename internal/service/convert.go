package service

import (
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/petstore"
)

// The generated types and the domain's, in both directions: all of it.

func toQuery(p api.ListPetsParams) petstore.Query {
	q := petstore.Query{Limit: defaultLimit}
	if p.Limit != nil {
		q.Limit = *p.Limit
	}
	if p.Status != nil {
		q.Status = petstore.Status(*p.Status)
	}
	if p.After != nil {
		q.After = *p.After
	}
	return q
}

func toNewPet(p api.NewPet) petstore.NewPet {
	n := petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID}
	if p.Status != nil {
		n.Status = petstore.Status(*p.Status)
	}
	return n.WithDefaults()
}

func fromPet(p petstore.Pet) api.Pet {
	return api.Pet{ID: p.ID, Name: p.Name, CategoryID: p.CategoryID, Status: new(api.PetStatus(p.Status))}
}

// fromPets never returns nil: an empty page is [], not null.
func fromPets(pets []petstore.Pet) api.Pets {
	out := make(api.Pets, len(pets))
	for i, p := range pets {
		out[i] = fromPet(p)
	}
	return out
}

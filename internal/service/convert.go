package service

import (
	"example.com/petstore/gen/api"
	"example.com/petstore/internal/petstore"
)

// From the generated types to the domain's. The way back is encode.go.

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

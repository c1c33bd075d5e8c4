package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"

	"example.com/petstore/internal/proof/bench/peers"
)

// operation is a measured operation.
type operation struct {
	name   string
	status int // of every response
	random func(r *rand.Rand, pets int) request
}

type request struct{ method, path, body string }

var operations = []operation{
	{"list", http.StatusOK, func(r *rand.Rand, pets int) request {
		return request{"GET", fmt.Sprintf("/v1/pets?limit=20&after=%d", randomAfter(r, pets)), ""}
	}},
	{"filtered list", http.StatusOK, func(r *rand.Rand, pets int) request {
		return request{"GET", fmt.Sprintf("/v1/pets?limit=20&status=%s&after=%d", peers.RandomPet(r).Status, randomAfter(r, pets)), ""}
	}},
	{"get", http.StatusOK, func(r *rand.Rand, pets int) request {
		return request{"GET", fmt.Sprintf("/v1/pets/%d", 1+r.IntN(pets)), ""}
	}},
	create,
}

var create = operation{"create", http.StatusCreated, func(r *rand.Rand, _ int) request {
	p := peers.RandomPet(r)
	return request{"POST", "/v1/pets", fmt.Sprintf(`{"name":%q,"categoryId":%d,"status":%q}`, p.Name, p.CategoryID, p.Status)}
}}

// randomAfter leaves out the last pets, so that most pages are full.
func randomAfter(r *rand.Rand, pets int) int { return r.IntN(pets - 300) }

// requests returns n random requests for a store of the given number of pets, the
// same ones on every call with the same seed.
func (o operation) requests(n, pets, seed int) []request {
	r, out := rand.New(rand.NewPCG(uint64(seed), 0)), make([]request, n)
	for i := range out {
		out[i] = o.random(r, pets)
	}
	return out
}

package service

import (
	"context"
	"strings"

	"example.com/petstore/gen/api"
	"example.com/petstore/internal/pets"
)

// From the generated types to the domain's. The way back is encode.go.

func toQuery(p api.ListPetsParams) pets.Query {
	q := pets.Query{Limit: defaultLimit}
	if p.Limit != nil {
		q.Limit = *p.Limit
	}
	if p.Status != nil {
		q.Status = pets.Status(*p.Status)
	}
	if p.After != nil {
		q.After = *p.After
	}
	return q
}

// RowsOf returns how many rows a request asks for, as the generated code has it.
func RowsOf(request any) int64 {
	if list, ok := request.(api.ListPetsRequestObject); ok {
		return int64(toQuery(list.Params).Limit)
	}
	return 1
}

func toNewPet(p api.NewPet) pets.NewPet {
	n := pets.NewPet{Name: p.Name, CategoryID: p.CategoryID}
	if p.Status != nil {
		n.Status = pets.Status(*p.Status)
	}
	return n.WithDefaults()
}

// toIdempotency reads the Idempotency-Key, quoted (RFC 9651, section 3.3.3) or
// bare: the document has seen to it that it is one of the two.
func toIdempotency(ctx context.Context, p api.CreatePetParams) pets.Idempotency {
	if p.IdempotencyKey == nil {
		return pets.Idempotency{}
	}
	key := *p.IdempotencyKey
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		key = unescape.Replace(strings.TrimSuffix(quoted, `"`))
	}
	return pets.Idempotency{KeyID: pets.Caller(ctx), Key: key}
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

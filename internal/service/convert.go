package service

import (
	"context"
	"strings"

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

// RowsOf returns how many rows a request asks for, as the generated code has it.
func RowsOf(request any) int64 {
	if list, ok := request.(api.ListPetsRequestObject); ok {
		return int64(toQuery(list.Params).Limit)
	}
	return 1
}

func toNewPet(p api.NewPet) petstore.NewPet {
	n := petstore.NewPet{Name: p.Name, CategoryID: p.CategoryID}
	if p.Status != nil {
		n.Status = petstore.Status(*p.Status)
	}
	return n.WithDefaults()
}

// toIdempotency reads the Idempotency-Key, quoted (RFC 9651, section 3.3.3) or
// bare: the document has seen to it that it is one of the two.
func toIdempotency(ctx context.Context, p api.CreatePetParams) petstore.Idempotency {
	if p.IdempotencyKey == nil {
		return petstore.Idempotency{}
	}
	key := *p.IdempotencyKey
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		key = unescape.Replace(strings.TrimSuffix(quoted, `"`))
	}
	return petstore.Idempotency{KeyID: petstore.Caller(ctx), Key: key}
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

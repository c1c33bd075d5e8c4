package service

import (
	"math"
	"strconv"
	"strings"

	"example.com/petstore/internal/old/gen/api"
	"example.com/petstore/internal/old/pets"
)

// The conversions from the generated types to the domain's, and from the domain's pet
// to JSON.

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

// NewPet returns the pet that the body of a request creates.
func NewPet(p api.NewPet) pets.NewPet {
	n := pets.NewPet{Name: p.Name, CategoryID: p.CategoryID}
	if p.Status != nil {
		n.Status = pets.Status(*p.Status)
	}
	return n.WithDefaults()
}

// AppendPet appends a pet as JSON, with its properties in the order of the document. To
// encode the generated types by reflection takes two to three times as long: a list
// would cost half as much again.
func AppendPet(b []byte, p *pets.Pet) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b = appendText(b, p.Name)
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	b = append(b, `,"status":"`...)
	b = append(b, p.Status...)
	b = append(b, '"')
	return append(b, '}')
}

// sizeOf returns a number of bytes that AppendPet does not exceed. Beside the text of p
// it counts the longest values.
func sizeOf(p *pets.Pet) int {
	size := longestPetSize
	size += quotedSize(p.Name)
	return size
}

// longestPetSize is that of a pet with the longest values, but without text.
var longestPetSize = len(AppendPet(nil, &pets.Pet{ID: math.MinInt64, CategoryID: math.MinInt64, Status: pets.Available}))

// bare returns an Idempotency-Key without its quotes (RFC 9651, section 3.3.3): the
// document has seen to it that it has two or none.
func bare(key string) string {
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		return unescape.Replace(strings.TrimSuffix(quoted, `"`))
	}
	return key
}

var unescape = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

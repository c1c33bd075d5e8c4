// Package properties follows every property of a request through a service: to each
// response, to the files of an export and back, to a backup and through a restart. The
// properties and their values come from the schemas NewPet and Pet of a document, so
// that no list of them is to be maintained. The package knows neither HTTP nor a store:
// a test hands it a Service.
package properties

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// Property is a property of NewPet that a response must return.
type Property struct {
	Name     string
	Values   []any // as encoding/json decodes them, numbers as json.Number; none is the default
	Required bool
	Nullable bool
	Default  any // nil for none
}

// Of returns the properties of NewPet in the document but those that are writeOnly. It
// fails where a schema accepts none of the values it thinks of.
func Of(document *openapi3.T) ([]Property, error) {
	request := document.Components.Schemas["NewPet"].Value
	var all []Property
	for _, name := range slices.Sorted(maps.Keys(request.Properties)) {
		schema := request.Properties[name].Value
		if schema.WriteOnly {
			continue
		}
		p := Property{
			Name: name, Values: values(schema), Default: schema.Default,
			Required: slices.Contains(request.Required, name), Nullable: schema.Nullable,
		}
		if len(p.Values) == 0 {
			return nil, fmt.Errorf("%s of NewPet: got no value that its schema accepts and that is not its default; give it an example in openapi.yaml", name)
		}
		all = append(all, p)
	}
	return all, nil
}

// mostValues bounds the values of a property.
const mostValues = 4

// values returns values of the schema, the example first.
func values(s *openapi3.Schema) (accepted []any) {
	thought := append([]any{s.Example}, s.Enum...)
	switch {
	case s.Type.Is("boolean"):
		thought = append(thought, true, false)
	case s.Type.Is("integer"):
		thought = append(thought, integers(s)...)
	case s.Type.Is("number"):
		thought = append(append(thought, 2.5, -0.125), integers(s)...)
	case s.Type.Is("string"):
		thought = append(thought, texts(s)...)
	}
	accept := func(value any) {
		if value == nil || value == "" || reflect.DeepEqual(value, s.Default) || s.VisitJSON(value) != nil {
			return
		}
		decoded, err := decode(encode(value))
		known := slices.ContainsFunc(accepted, func(other any) bool { return reflect.DeepEqual(other, decoded) })
		if err == nil && !known && len(accepted) < mostValues {
			accepted = append(accepted, decoded)
		}
	}
	for _, value := range thought {
		accept(value)
	}
	for seed := 0; s.Pattern != "" && len(accepted) < mostValues && seed < 50; seed++ {
		accept(rapid.StringMatching(s.Pattern).Example(seed))
	}
	return accepted
}

// integers returns the bounds of the schema, or else of its format, and values between.
func integers(s *openapi3.Schema) []any {
	all := []any{int64(7), int64(-7), int64(0)}
	least, greatest := int64(math.MinInt64), int64(math.MaxInt64)
	if s.Format == "int32" {
		least, greatest = math.MinInt32, math.MaxInt32
	}
	if s.Min != nil {
		least = int64(math.Ceil(*s.Min))
	}
	if s.Max != nil {
		greatest = int64(math.Floor(*s.Max))
	}
	if s.Type.Is("number") {
		return append(all, least/4, greatest/4)
	}
	return append([]any{greatest, least, greatest - 1, least + 1}, all...)
}

// byFormat has values of the formats that a text may have.
var byFormat = map[string][]any{
	"date":      {"2031-12-30"},
	"date-time": {"2031-12-30T23:59:58Z"},
	"uuid":      {"5f0c6a9e-3b1d-4c55-8f0e-0a1b2c3d4e5f"},
	"email":     {"frank@example.com"},
	"uri":       {"https://example.com/frank?a=b&c=%20d"},
}

// texts returns texts of the greatest and the least length, and of the format.
func texts(s *openapi3.Schema) (all []any) {
	const typical = `Zoë "the" <cat>, 🐱; 1\2`
	longest := 100
	if s.MaxLength != nil {
		longest = int(min(*s.MaxLength, 1000))
	}
	long := []rune(strings.Repeat(typical, 1+longest/10))[:longest]
	all = append(all, byFormat[s.Format]...)
	all = append(all, typical, string(long), string(long[:min(int(max(s.MinLength, 1)), longest)]))
	return all
}

// encode returns the JSON of a value that JSON has.
func encode(value any) []byte {
	if i, ok := value.(int64); ok { // past 2^53 too
		return strconv.AppendInt(nil, i, 10)
	}
	b, err := json.Marshal(value)
	if err != nil {
		panic(err) // a bug of this package
	}
	return b
}

// decode decodes a value with its numbers as they are written.
func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}

// Package example has the fixtures of all tests: whoever replaces the resource changes them
// here. Valid values come from the examples of the document.
package example

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/engine/contract"
	"example.com/petstore/gen"
	"example.com/petstore/internal/pets"
)

// OpenAPI returns openapi.yaml, which callers must not change.
var OpenAPI = sync.OnceValue(func() *openapi3.T {
	return Must(openapi3.NewLoader().LoadFromData(gen.Document))
})

// Base returns the path of the first server.
func Base() string { return strings.TrimSuffix(Must(OpenAPI().Servers.BasePath()), "/") }

// path is the path of the list in the document.
const path = "/pets"

// ListPath returns the path of the list on the server.
func ListPath() string { return Base() + path }

// What tests know about the identifiers of pets: a pattern, and some that no pet has, as in a path.
const ID = "[0-9]+"

var NoID = []string{"0", "-1", "%2D1", "9007199254740992", "9223372036854775807"}

// Operations returns the operations of the list: Get lists pets, and Post creates one.
func Operations() *openapi3.PathItem { return OpenAPI().Paths.Value(path) }

// newPet returns the schema of the body of createPet.
func newPet() *openapi3.Schema {
	return Operations().Post.RequestBody.Value.Content["application/json"].Schema.Value
}

// Body returns a body for createPet with properties such as `"name":"Tom"`, and with
// examples of those that are required. Without a name it gets one that no other body has.
func Body(properties ...string) string {
	if !slices.ContainsFunc(properties, func(p string) bool { return strings.HasPrefix(p, strconv.Quote(text)+":") }) {
		properties = append(properties, fmt.Sprintf(`%q:"%v %d"`, text, newPet().Properties[text].Value.Example, names.Add(1)))
	}
	return contract.BodyOf(newPet(), properties...)
}

var names atomic.Int64 // given by Body

// Pet returns the pet of Body. Its fields are named as the properties, whatever their case.
func Pet() pets.NewPet {
	var p pets.NewPet
	d := json.NewDecoder(strings.NewReader(Body()))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		panic(err)
	}
	return p.WithDefaults()
}

// What tests know about the properties of a pet stands from here to Selects.

// text is the property that tests fill with texts of their own.
const text = "name"

// Named returns the pet of Pet with another name.
func Named(name string) pets.NewPet {
	p := Pet()
	p.Name = name
	return p
}

// Numbered returns a pet that differs from those with other numbers in each property, if it has enough values.
func Numbered(n int) pets.NewPet {
	p := Named(fmt.Sprintf("pet %d", n))
	p.CategoryID = int64(n)
	p.Status = []pets.Status{pets.Available, pets.Pending, pets.Sold}[n%3]
	return p
}

// Filters returns what the filters of the list select, by the query of a request, such as status=sold.
func Filters() map[string]pets.ListQuery {
	return map[string]pets.ListQuery{
		"status=available": {Status: pets.Available},
		"status=pending":   {Status: pets.Pending},
		"status=sold":      {Status: pets.Sold},
	}
}

// Selects reports whether the filters of q select p.
func Selects(q pets.ListQuery, p pets.Pet) bool { return q.Status == "" || p.Status == q.Status }

// Pets returns the pets with the numbers below n.
func Pets(n int) []pets.NewPet {
	all := make([]pets.NewPet, n)
	for i := range all {
		all[i] = Numbered(i)
	}
	return all
}

// BodyNamed returns the body of Body with another name, of which little is escaped: < is one byte.
func BodyNamed(name string, properties ...string) string {
	return Body(append(properties, strconv.Quote(text)+":"+string(Must(jsontext.AppendQuote(nil, name))))...)
}

// Integers returns properties for Body: those that are integers of 64 bits, with a value.
func Integers(value string) (properties []string) {
	for name, p := range newPet().Properties {
		if p.Value.Format == "int64" {
			properties = append(properties, strconv.Quote(name)+":"+value)
		}
	}
	return properties
}

// LongText returns a text of n bytes in UTF-8, most of them of letters that have two.
func LongText(n int) string {
	return strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
}

// Must returns v, and panics if there is an error, which no test expects there.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

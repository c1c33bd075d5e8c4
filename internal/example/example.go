// Package example has the fixtures of all tests: who replaces the resource changes them
// here. Valid values come from the examples of the document.
//
//	p := example.Pet()                           // a pets.NewPet with defaults
//	example.Named("Tom")                         // the same with another name
//	example.Pets(3)                              // three that differ in every property
//	example.Body()                               // {"name":"Frank","categoryId":1}
//	example.BodyNamed(example.LongText(32<<10))  // with a name of 32 KiB
//	example.Body(`"status":"sold"`)              // with another property
//	example.List(), example.Item(7)              // /v1/pets, /v1/pets/7
//	*example.Parameter("limit").Max              // of the query of the list
package example

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
	"example.com/petstore/internal/pets"
)

// Document returns openapi.yaml, which callers must not change.
var Document = sync.OnceValue(func() *openapi3.T {
	return must(openapi3.NewLoader().LoadFromData(gen.Document))
})

// Base returns the path of the first server.
func Base() string {
	return must(url.Parse(Document().Servers[0].URL)).Path
}

// path is the path of the list in the document.
const path = "/pets"

// List returns the path of the list on the server.
func List() string { return Base() + path }

// Item returns the path of one pet on the server.
func Item(id any) string { return fmt.Sprintf("%s/%v", List(), id) }

// Parameter returns the schema of a parameter of the list.
func Parameter(name string) *openapi3.Schema {
	return Document().Paths.Value(path).Get.Parameters.GetByInAndName("query", name).Schema.Value
}

// Body returns a body for createPet with properties such as `"name":"Tom"`, and with
// examples of those that are required.
func Body(properties ...string) string {
	schema := Document().Components.Schemas["NewPet"].Value
	for _, name := range schema.Required {
		quoted := strconv.Quote(name) + ":"
		if !slices.ContainsFunc(properties, func(p string) bool { return strings.HasPrefix(p, quoted) }) {
			properties = append(properties, quoted+string(must(json.Marshal(schema.Properties[name].Value.Example))))
		}
	}
	return "{" + strings.Join(properties, ",") + "}"
}

// Pet returns the pet of Body. The names of its fields are those of the properties,
// whatever their case.
func Pet() pets.NewPet {
	var p pets.NewPet
	d := json.NewDecoder(strings.NewReader(Body()))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		panic(err)
	}
	return p.WithDefaults()
}

// Named returns the pet of Pet with another name.
func Named(name string) pets.NewPet {
	p := Pet()
	p.Name = name
	return p
}

// BodyNamed returns the body of Body with another name.
func BodyNamed(name string) string {
	return Body(`"name":` + string(must(json.Marshal(name))))
}

// Pets returns n pets that differ in each property, as far as it has values.
func Pets(n int) []pets.NewPet {
	all := make([]pets.NewPet, n)
	for i := range all {
		all[i] = Named(fmt.Sprintf("pet %d", i))
		all[i].CategoryID = int64(i)
		all[i].Status = []pets.Status{pets.Available, pets.Pending, pets.Sold}[i%3]
	}
	return all
}

// LongText returns a text of n bytes in UTF-8, most of them of letters that have two.
func LongText(n int) string {
	return strings.Repeat("é", n/2) + strings.Repeat("x", n%2)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

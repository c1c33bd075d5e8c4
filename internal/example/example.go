// Package example makes valid pets for tests from the document.
//
//	example.Body()                     // {"name":"Frank","categoryId":1}
//	example.Body(`"name":"Tom"`)       // with another name
//	p := example.Pet(); p.Name = "Tom" // a pets.NewPet, with defaults
//	example.Base() + "/pets"           // /v1/pets
//	*example.Parameter("limit").Max    // of the query of listPets
package example

import (
	"encoding/json"
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

// Parameter returns the schema of a parameter of the list.
func Parameter(name string) *openapi3.Schema {
	return Document().Paths.Value("/pets").Get.Parameters.GetByInAndName("query", name).Schema.Value
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

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

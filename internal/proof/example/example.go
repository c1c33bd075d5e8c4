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
	"fmt"
	"net/url"
	"slices"
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

// Body returns a body for createPet, with the properties that are required. Each
// change is a property such as `"name":null`, which replaces the one of that name or
// is added, or only a name in quotes, which is left out.
func Body(changes ...string) string {
	schema := Document().Components.Schemas["NewPet"].Value
	var properties []string
	for _, name := range schema.Required {
		properties = append(properties, fmt.Sprintf("%q:%s", name, must(json.Marshal(schema.Properties[name].Value.Example))))
	}
	for _, change := range changes {
		name, _, hasValue := strings.Cut(change, ":")
		properties = slices.DeleteFunc(properties, func(p string) bool { return strings.HasPrefix(p, name+":") })
		if hasValue {
			properties = append(properties, change)
		}
	}
	return "{" + strings.Join(properties, ",") + "}"
}

// Pet returns the pet of Body. The names of its fields are those of the properties,
// whatever their case.
func Pet() (p pets.NewPet) {
	d := json.NewDecoder(strings.NewReader(Body()))
	d.DisallowUnknownFields()
	check(d.Decode(&p))
	return p.WithDefaults()
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Package example makes valid pets for tests from the document.
//
//	example.Body()                     // {"name":"Frank","categoryId":1}
//	example.Body(`"name":"Tom"`)       // with another name
//	example.Header() + example.Row()   // CSV, with a column for each property
//	p := example.Pet(); p.Name = "Tom" // a pets.NewPet, with defaults
//	example.Base() + "/pets"           // /v1/pets
//	*example.Parameter("limit").Max    // of the query of listPets
package example

import (
	"cmp"
	"encoding/csv"
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
	schema := newPet()
	values, _ := schema.Example.(map[string]any)
	var properties []string
	for _, name := range names(schema) {
		if slices.Contains(schema.Required, name) {
			properties = append(properties, fmt.Sprintf("%q:%s", name, must(json.Marshal(cmp.Or(values[name], schema.Properties[name].Value.Example)))))
		}
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

// Header returns the first line of a CSV file.
func Header() string { return line(names(newPet())) }

// Row returns a line of a CSV file with the pet of Body.
func Row(changes ...string) string {
	var values map[string]json.RawMessage
	check(json.Unmarshal([]byte(Body(changes...)), &values))
	fields := names(newPet())
	for i, name := range fields {
		fields[i] = string(values[name])
		if strings.HasPrefix(fields[i], `"`) {
			check(json.Unmarshal(values[name], &fields[i]))
		}
	}
	return line(fields)
}

// Pet returns the pet of Body. The names of its fields are those of the properties,
// whatever their case.
func Pet() (p pets.NewPet) {
	d := json.NewDecoder(strings.NewReader(Body()))
	d.DisallowUnknownFields()
	check(d.Decode(&p))
	return p.WithDefaults()
}

func newPet() *openapi3.Schema { return Document().Components.Schemas["NewPet"].Value }

// names returns the properties in the order of x-order, those without it last.
func names(schema *openapi3.Schema) (all []string) {
	order := func(name string) float64 {
		x, _ := schema.Properties[name].Value.Extensions["x-order"].(float64)
		return cmp.Or(x, 1000)
	}
	for name := range schema.Properties {
		all = append(all, name)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b)) })
	return all
}

func line(fields []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	check(w.WriteAll([][]string{fields}))
	return b.String()
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

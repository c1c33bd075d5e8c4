package contract

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
)

// The specification, row by row. Every test of this file runs on openapi.yaml,
// which may say more, and on specification.yaml, which may not.

// load reads and validates a document.
func load(t *testing.T, name string, data []byte) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	d, err := loader.LoadFromData(data)
	if err != nil {
		t.Fatalf("%s does not load: %v", name, err)
	}
	if err := d.Validate(loader.Context); err != nil {
		t.Fatalf("%s is not valid OpenAPI: %v", name, err)
	}
	return d
}

// document returns openapi.yaml.
func document(t *testing.T) *openapi3.T {
	t.Helper()
	return load(t, "openapi.yaml", gen.Document)
}

// onBoth runs test on both documents.
func onBoth(t *testing.T, test func(t *testing.T, d *openapi3.T)) {
	t.Helper()
	bare, err := os.ReadFile("specification.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"openapi.yaml": gen.Document, "specification.yaml": bare} {
		t.Run(name, func(t *testing.T) { test(t, load(t, name, data)) })
	}
}

// beyond are the operations, schemas and properties that openapi.yaml has beside those of
// the specification, such as "listCategories", "Category" and "Pet.color".
var beyond = []string{}

// field is a row of a table of "Resources and their fields", or a parameter.
type field struct {
	schema, name, typ, format string
	required                  bool
}

var fields = []field{
	{schema: "NewPet", name: "name", typ: "string", required: true},
	{schema: "NewPet", name: "categoryId", typ: "integer", format: "int64", required: true},
	{schema: "NewPet", name: "status", typ: "string"},
	{schema: "Pet", name: "id", typ: "integer", format: "int64", required: true},
	{schema: "Pet", name: "name", typ: "string", required: true},
	{schema: "Pet", name: "categoryId", typ: "integer", format: "int64", required: true},
	{schema: "Pet", name: "status", typ: "string"},
	{schema: "Error", name: "code", typ: "string", required: true},
	{schema: "Error", name: "message", typ: "string", required: true},
	{schema: "Error", name: "status", typ: "integer", required: true},
}

func TestEveryFieldHasTheNameTypeAndFormatOfTheSpecification(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		counts := map[string]int{}
		for _, f := range fields {
			counts[f.schema]++
			schema := d.Components.Schemas[f.schema].Value
			if !schema.Type.Is("object") {
				t.Errorf("type of %s: got %v, want object", f.schema, schema.Type)
			}
			p := schema.Properties[f.name]
			if p == nil {
				t.Errorf("%s.%s: got none, want the field", f.schema, f.name)
				continue
			}
			if !p.Value.Type.Is(f.typ) || p.Value.Format != f.format {
				t.Errorf("%s.%s: got %v %q, want %s %q", f.schema, f.name, p.Value.Type, p.Value.Format, f.typ, f.format)
			}
			if p.Value.Nullable {
				t.Errorf("%s.%s: got nullable, want never null", f.schema, f.name)
			}
			if got := slices.Contains(schema.Required, f.name); got != f.required {
				t.Errorf("%s.%s required: got %t, want %t", f.schema, f.name, got, f.required)
			}
		}
		for schema := range counts {
			for name := range d.Components.Schemas[schema].Value.Properties {
				isRow := func(f field) bool { return f.schema == schema && f.name == name }
				if !slices.ContainsFunc(fields, isRow) && !slices.Contains(beyond, schema+"."+name) {
					t.Errorf("properties: got %s.%s, want those of the specification; an addition is entered in beyond", schema, name)
				}
			}
		}
		for name := range d.Components.Schemas {
			if counts[name] == 0 && name != "PetStatus" && name != "Pets" && !slices.Contains(beyond, name) {
				t.Errorf("schemas: got %s, want those of the specification; an addition is entered in beyond", name)
			}
		}
	})
}

func TestPetStatusIsTheEnumerationOfTheSpecification(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		s := d.Components.Schemas["PetStatus"].Value
		if want := []any{"available", "pending", "sold"}; !s.Type.Is("string") || !slices.Equal(s.Enum, want) {
			t.Errorf("PetStatus: got %v %v, want string %v", s.Type, s.Enum, want)
		}
		for _, name := range []string{"NewPet", "Pet"} {
			if got := d.Components.Schemas[name].Value.Properties["status"].Ref; got != "#/components/schemas/PetStatus" {
				t.Errorf("%s.status: got %q, want PetStatus", name, got)
			}
		}
	})
}

func TestPetsIsAnArrayOfPet(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		s := d.Components.Schemas["Pets"].Value
		if !s.Type.Is("array") || s.Items == nil || s.Items.Ref != "#/components/schemas/Pet" {
			t.Errorf("Pets: got %v of %+v, want an array of Pet", s.Type, s.Items)
		}
	})
}

// operationRow is an endpoint of the specification.
type operationRow struct {
	id, method, path string
	request, success string // the schemas of the bodies
	status           string
	errors           []string
	deprecated       bool
}

var operationRows = []operationRow{
	{id: "listPets", method: "GET", path: "/pets", status: "200", success: "Pets", errors: []string{"401"}},
	{id: "createPet", method: "POST", path: "/pets", request: "NewPet", status: "201", success: "Pet", errors: []string{"400", "401"}},
	{id: "getPet", method: "GET", path: "/pets/{petId}", status: "200", success: "Pet", errors: []string{"401", "404"}, deprecated: true},
}

func TestEveryOperationHasTheMethodPathAndBodiesOfTheSpecification(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		for _, item := range d.Paths.Map() {
			for _, o := range item.Operations() {
				isRow := func(row operationRow) bool { return row.id == o.OperationID }
				if !slices.ContainsFunc(operationRows, isRow) && !slices.Contains(beyond, o.OperationID) {
					t.Errorf("operations: got %s, want those of the specification; an addition is entered in beyond", o.OperationID)
				}
			}
		}
		for _, row := range operationRows {
			item := d.Paths.Value(row.path)
			if item == nil || item.GetOperation(row.method) == nil {
				t.Errorf("%s %s: got none, want %s", row.method, row.path, row.id)
				continue
			}
			o := item.GetOperation(row.method)
			if o.OperationID != row.id || o.Deprecated != row.deprecated {
				t.Errorf("%s %s: got %s, deprecated %t, want %s, %t", row.method, row.path, o.OperationID, o.Deprecated, row.id, row.deprecated)
			}
			if row.request == "" && o.RequestBody != nil {
				t.Errorf("body of %s: got one, want none", row.id)
			}
			if row.request != "" && (o.RequestBody == nil || !o.RequestBody.Value.Required || bodySchema(o.RequestBody.Value.Content) != row.request) {
				t.Errorf("body of %s: got %+v, want %s, required, as application/json alone", row.id, o.RequestBody, row.request)
			}
			for _, status := range append([]string{row.status}, row.errors...) {
				want := row.success
				if status != row.status {
					want = "Error"
				}
				r := o.Responses.Value(status)
				if r == nil || bodySchema(r.Value.Content) != want {
					t.Errorf("%s of %s: got %+v, want %s as application/json alone", status, row.id, r, want)
				}
			}
		}
	})
}

// bodySchema returns the name of the schema of a body that is JSON alone.
func bodySchema(c openapi3.Content) string {
	if len(c) != 1 || c["application/json"] == nil || c["application/json"].Schema == nil {
		return ""
	}
	return strings.TrimPrefix(c["application/json"].Schema.Ref, "#/components/schemas/")
}

func TestEveryErrorOfOpenapiYAMLHasTheErrorBody(t *testing.T) {
	for _, row := range operationRows {
		o := document(t).Paths.Value(row.path).GetOperation(row.method)
		for status, r := range o.Responses.Map() {
			if status >= "400" && bodySchema(r.Value.Content) != "Error" {
				t.Errorf("%s of %s: got %q, want Error", status, row.id, bodySchema(r.Value.Content))
			}
		}
		if o.Responses.Default() != nil {
			t.Errorf("default response of %s: got one, want every status named", row.id)
		}
	}
}

func TestEveryParameterIsTheSpecifications(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		list, get := d.Paths.Value("/pets").Get, d.Paths.Value("/pets/{petId}").Get
		limit := list.Parameters.GetByInAndName("query", "limit")
		if limit == nil || limit.Required || !limit.Schema.Value.Type.Is("integer") || limit.Schema.Value.Format != "" {
			t.Fatalf("limit: got %+v, want an optional integer of the query", limit)
		}
		if s := limit.Schema.Value; s.Min == nil || *s.Min != 1 || s.Max == nil || *s.Max != 100 || s.Default != 20.0 {
			t.Errorf("limit: got minimum %v, maximum %v, default %v, want 1, 100, 20", s.Min, s.Max, s.Default)
		}
		status := list.Parameters.GetByInAndName("query", "status")
		if status == nil || status.Required || status.Schema.Ref != "#/components/schemas/PetStatus" {
			t.Errorf("status: got %+v, want an optional PetStatus of the query", status)
		}
		id := get.Parameters.GetByInAndName("path", "petId")
		if id == nil || !id.Required || !id.Schema.Value.Type.Is("integer") || id.Schema.Value.Format != "int64" {
			t.Errorf("petId: got %+v, want a required int64 of the path", id)
		}
		for _, p := range list.Parameters {
			if p.Value.Required {
				t.Errorf("%s: got required, want every parameter of listPets optional", p.Value.Name)
			}
		}
	})
}

func TestEveryOperationWantsHTTPBearerAuthenticationAndNothingElse(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		for _, row := range operationRows {
			security := d.Paths.Value(row.path).GetOperation(row.method).Security
			if security == nil {
				security = &d.Security
			}
			if len(*security) != 1 || len((*security)[0]) != 1 {
				t.Errorf("security of %s: got %v, want one scheme", row.id, *security)
				continue
			}
			for name := range (*security)[0] {
				if s := d.Components.SecuritySchemes[name].Value; s.Type != "http" || s.Scheme != "bearer" {
					t.Errorf("security of %s: got %s %s, want http bearer", row.id, s.Type, s.Scheme)
				}
			}
		}
	})
}

func TestTheTwoBaseAddressesHaveTheNamesOfTheSpecificationAndEndInTheVersion(t *testing.T) {
	names := []string{"base_url", "staging_base_url"}
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		if len(d.Servers) != len(names) {
			t.Fatalf("servers: got %d, want %d", len(d.Servers), len(names))
		}
		for i, name := range names {
			s := d.Servers[i]
			if !strings.HasSuffix(s.URL, BasePath) || len(s.Variables) > 0 {
				t.Errorf("server %d: got %s with %d variables, want an address that ends in %s, for every tool to see", i+1, s.URL, len(s.Variables), BasePath)
			}
			if !regexp.MustCompile(`\b` + name + `\b`).MatchString(s.Description) {
				t.Errorf("description of server %d: got %q, want the name %s in it", i+1, s.Description, name)
			}
		}
	})
}

func TestTheVersionIsTheSpecifications(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		if d.Info.Version != "1.0.0" || d.OpenAPI != "3.0.3" {
			t.Errorf("versions: got %s of OpenAPI %s, want 1.0.0 of 3.0.3", d.Info.Version, d.OpenAPI)
		}
	})
}

func TestTheSunsetDateIsTheSpecifications(t *testing.T) {
	onBoth(t, func(t *testing.T, d *openapi3.T) {
		if got := d.Paths.Value("/pets/{petId}").Get.Extensions["x-sunset"]; got != "2030-12-05" {
			t.Errorf("x-sunset of getPet: got %#v, want the string 2030-12-05", got)
		}
	})
}

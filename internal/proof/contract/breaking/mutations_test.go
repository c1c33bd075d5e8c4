//go:build thirdparty

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
)

// mutation is a change of openapi.yaml.
type mutation struct {
	name   string
	change func(*openapi3.T)
}

func schema(d *openapi3.T, name string) *openapi3.Schema { return d.Components.Schemas[name].Value }

func property(d *openapi3.T, of, name string) *openapi3.Schema {
	return schema(d, of).Properties[name].Value
}

func list(d *openapi3.T) *openapi3.Operation   { return d.Paths.Value("/pets").Get }
func create(d *openapi3.T) *openapi3.Operation { return d.Paths.Value("/pets").Post }
func get(d *openapi3.T) *openapi3.Operation    { return d.Paths.Value("/pets/{petId}").Get }

func limit(d *openapi3.T) *openapi3.Parameter {
	return list(d).Parameters.GetByInAndName("query", "limit")
}

func after(d *openapi3.T) *openapi3.Parameter {
	return list(d).Parameters.GetByInAndName("query", "after")
}

func idempotencyKey(d *openapi3.T) *openapi3.Parameter {
	return create(d).Parameters.GetByInAndName("header", "Idempotency-Key")
}

func ptr[T any](v T) *T { return &v }

func without(names []string, name string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == name })
}

// seen are the changes that oasdiff itself calls errors or warnings.
var seen = []mutation{
	{"an operation is removed", func(d *openapi3.T) { d.Paths.Value("/pets").Post = nil }},
	{"a deprecated operation is removed before its sunset", func(d *openapi3.T) { d.Paths.Delete("/pets/{petId}") }},
	{"a sunset is removed", func(d *openapi3.T) { delete(get(d).Extensions, "x-sunset") }},
	{"a path is spelled otherwise", func(d *openapi3.T) {
		d.Paths.Set("/Pets", d.Paths.Value("/pets"))
		d.Paths.Delete("/pets")
	}},
	{"a path parameter is renamed", func(d *openapi3.T) {
		get(d).Parameters[0].Value.Name = "id"
		d.Paths.Set("/pets/{id}", d.Paths.Value("/pets/{petId}"))
		d.Paths.Delete("/pets/{petId}")
	}},
	{"a required parameter is new", func(d *openapi3.T) {
		list(d).AddParameter(openapi3.NewQueryParameter("name").WithRequired(true).WithSchema(openapi3.NewStringSchema()))
	}},
	{"a required header of requests is new", func(d *openapi3.T) {
		list(d).AddParameter(openapi3.NewHeaderParameter("X-Client").WithRequired(true).WithSchema(openapi3.NewStringSchema()))
	}},
	{"a required property of requests is new", func(d *openapi3.T) {
		schema(d, "NewPet").Properties["born"] = openapi3.NewSchemaRef("", openapi3.NewStringSchema())
		schema(d, "NewPet").Required = append(schema(d, "NewPet").Required, "born")
	}},
	{"a body is no longer taken", func(d *openapi3.T) { create(d).RequestBody = nil }},
	{"a body is no longer sent", func(d *openapi3.T) { list(d).Responses.Value("200").Value.Content = nil }},
	{"a parameter takes certain values only", func(d *openapi3.T) { limit(d).Schema.Value.Enum = []any{10, 20} }},
	{"a parameter is narrower", func(d *openapi3.T) { after(d).Schema.Value.Format = "int32" }},
	{"a parameter is removed", func(d *openapi3.T) { list(d).Parameters = list(d).Parameters[:2] }},
	{"a parameter becomes required", func(d *openapi3.T) { after(d).Required = true }},
	{"a parameter moves to the headers", func(d *openapi3.T) { after(d).In = "header" }},
	{"a header of requests is removed", func(d *openapi3.T) { create(d).Parameters = nil }},
	{"a maximum of a request is lowered", func(d *openapi3.T) { limit(d).Schema.Value.Max = ptr(50.0) }},
	{"a minimum of a request is raised", func(d *openapi3.T) { limit(d).Schema.Value.Min = ptr(2.0) }},
	{"a pattern of a request is another", func(d *openapi3.T) { idempotencyKey(d).Schema.Value.Pattern = "^[a-z]+$" }},
	{"a pattern of a body is another", func(d *openapi3.T) { property(d, "NewPet", "name").Pattern = "^[a-z]*$" }},
	{"a maxLength of a request is new", func(d *openapi3.T) { property(d, "NewPet", "name").MaxLength = ptr(uint64(10)) }},
	{"a minLength of a request is new", func(d *openapi3.T) { property(d, "NewPet", "name").MinLength = 1 }},
	{"a property of a request becomes required", func(d *openapi3.T) { schema(d, "NewPet").Required = append(schema(d, "NewPet").Required, "status") }},
	{"a property of a request is removed", func(d *openapi3.T) { delete(schema(d, "NewPet").Properties, "status") }},
	{"an integer of a request is narrower", func(d *openapi3.T) { property(d, "NewPet", "categoryId").Format = "int32" }},
	{"a body takes more than a schema", func(d *openapi3.T) {
		schema(d, "NewPet").AllOf = openapi3.SchemaRefs{{Value: &openapi3.Schema{Required: []string{"status"}}}}
	}},
	{"a property of a response becomes optional", func(d *openapi3.T) { schema(d, "Pet").Required = without(schema(d, "Pet").Required, "id") }},
	{"a property of an error becomes optional", func(d *openapi3.T) { schema(d, "Error").Required = without(schema(d, "Error").Required, "code") }},
	{"a property of a response may be null", func(d *openapi3.T) { property(d, "Pet", "name").Nullable = true }},
	{"an integer of a response becomes a number", func(d *openapi3.T) { property(d, "Error", "status").Type = &openapi3.Types{"number"} }},
	{"a maximum of a response is raised", func(d *openapi3.T) { property(d, "Pet", "id").Max = ptr(1e18) }},
	{"a maxItems of a response is raised", func(d *openapi3.T) { schema(d, "Pets").MaxItems = ptr(uint64(1000)) }},
	{"a value of an enumeration is removed", func(d *openapi3.T) { schema(d, "PetStatus").Enum = []any{"available", "pending"} }},
	{"a value of what is received is new", func(d *openapi3.T) { schema(d, "PetStatus").Enum = append(schema(d, "PetStatus").Enum, "lost") }},
	{"a success has another status", func(d *openapi3.T) {
		create(d).Responses.Set("200", create(d).Responses.Value("201"))
		create(d).Responses.Delete("201")
	}},
	{"a media type of requests is another", func(d *openapi3.T) {
		c := create(d).RequestBody.Value.Content
		c["application/xml"] = c["application/json"]
		delete(c, "application/json")
	}},
	{"a header of responses has another type", func(d *openapi3.T) {
		d.Components.Headers["Retry-After"].Value.Schema.Value.Type = &openapi3.Types{"string"}
	}},
	{"a security scheme is renamed", func(d *openapi3.T) {
		d.Components.SecuritySchemes["apiKey"] = d.Components.SecuritySchemes["bearerAuth"]
		delete(d.Components.SecuritySchemes, "bearerAuth")
		for _, o := range []*openapi3.Operation{list(d), create(d), get(d)} {
			o.Security = &openapi3.SecurityRequirements{{"apiKey": {}}}
		}
		d.Security = openapi3.SecurityRequirements{{"apiKey": {}}}
	}},
	{"a security scheme is asked for beside the other", func(d *openapi3.T) {
		d.Components.SecuritySchemes["other"] = &openapi3.SecuritySchemeRef{Value: openapi3.NewJWTSecurityScheme()}
		list(d).Security = &openapi3.SecurityRequirements{{"bearerAuth": {}, "other": {}}}
	}},
}

// raised are the changes that oasdiff calls information.
var raised = []mutation{
	{"an operationId is another", func(d *openapi3.T) { list(d).OperationID = "getPets" }},
	{"a tag is another", func(d *openapi3.T) { list(d).Tags = []string{"animals"} }},
	{"a tag is removed", func(d *openapi3.T) { list(d).Tags = nil }},
	{"a schema is renamed", func(d *openapi3.T) {
		s := d.Components.Schemas
		s["PetInput"] = s["NewPet"]
		delete(s, "NewPet")
		create(d).RequestBody.Value.Content["application/json"].Schema.Ref = "#/components/schemas/PetInput"
	}},
	{"a default is removed", func(d *openapi3.T) { limit(d).Schema.Value.Default = nil }},
	{"a default is another", func(d *openapi3.T) { limit(d).Schema.Value.Default = 50 }},
	{"an error is no longer documented", func(d *openapi3.T) { get(d).Responses.Delete("404") }},
	{"an optional property of a response is removed", func(d *openapi3.T) { delete(schema(d, "Pet").Properties, "status") }},
	{"a header of responses is removed", func(d *openapi3.T) { delete(list(d).Responses.Value("200").Value.Headers, "Link") }},
	{"a header of shared responses is removed", func(d *openapi3.T) {
		delete(d.Components.Responses["Unauthorized"].Value.Headers, "WWW-Authenticate")
	}},
	{"an integer of a response has another type in code", func(d *openapi3.T) { property(d, "Pet", "id").Format = "int32" }},
	{"a response is another kind of JSON", func(d *openapi3.T) {
		c := d.Components.Responses["NotFound"].Value.Content
		c["application/problem+json"] = c["application/json"]
		delete(c, "application/json")
	}},
	{"a property of a request is no longer written", func(d *openapi3.T) { property(d, "NewPet", "name").ReadOnly = true }},
	{"a property of a response is for writing only", func(d *openapi3.T) { property(d, "Pet", "id").WriteOnly = true }},
	{"an operation is no longer deprecated", func(d *openapi3.T) {
		get(d).Deprecated = false
		delete(get(d).Extensions, "x-sunset")
	}},
}

// unseenByOasdiff are the changes that break a client and that oasdiff does not see, or
// does not grade by the level of their rule. A person sees them, who must list them.
var unseenByOasdiff = []mutation{
	{"a sunset is earlier", func(d *openapi3.T) { get(d).Extensions["x-sunset"] = "2029-12-05" }},
	{"a sunset is later", func(d *openapi3.T) { get(d).Extensions["x-sunset"] = "2031-12-05" }},
	{"the date of a deprecation is removed", func(d *openapi3.T) { delete(get(d).Extensions, "x-deprecated-at") }},
	{"the date of a deprecation is another", func(d *openapi3.T) { get(d).Extensions["x-deprecated-at"] = "2028-01-01" }},
	{"a security scheme is of another type", func(d *openapi3.T) {
		*d.Components.SecuritySchemes["bearerAuth"].Value = openapi3.SecurityScheme{Type: "apiKey", In: "header", Name: "X-Key"}
	}},
	{"a security scheme is another of its type", func(d *openapi3.T) { d.Components.SecuritySchemes["bearerAuth"].Value.Scheme = "basic" }},
	{"a server is removed", func(d *openapi3.T) { d.Servers = d.Servers[:1] }},
	{"the first server is another", func(d *openapi3.T) { slices.Reverse(d.Servers) }},
	{"a server is at another address", func(d *openapi3.T) { d.Servers[0].URL = "http://127.0.0.1:8080/v2" }},
	{"a server has a variable for its address", func(d *openapi3.T) {
		d.Servers[0].URL = "{base_url}"
		d.Servers[0].Variables = map[string]*openapi3.ServerVariable{"base_url": {Default: "http://127.0.0.1:8080/v1"}}
	}},
	{"an error code is removed", func(d *openapi3.T) { replaceInTable(d, "| 404 | `not_found` |", "| 404 | not found |") }},
	{"an error code is renamed", func(d *openapi3.T) { replaceInTable(d, "`not_found`", "`missing`") }},
	{"an error code has another status", func(d *openapi3.T) { replaceInTable(d, "| 415 | `unsupported", "| 400 | `unsupported") }},
	{"a link is removed", func(d *openapi3.T) { create(d).Responses.Value("201").Value.Links = nil }},
	{"a link leads elsewhere", func(d *openapi3.T) {
		create(d).Responses.Value("201").Value.Links["getPet"].Value.Parameters["petId"] = "$response.body#/categoryId"
	}},
	{"a maximum of a response is removed", func(d *openapi3.T) { property(d, "Pet", "id").Max = nil }},
	{"a minimum of a response is removed", func(d *openapi3.T) { property(d, "Pet", "id").Min = nil }},
	{"a maxItems of a response is removed", func(d *openapi3.T) { schema(d, "Pets").MaxItems = nil }},
	{"a pattern of a response's header is removed", func(d *openapi3.T) { d.Components.Headers["X-Request-Id"].Value.Schema.Value.Pattern = "" }},
	{"a pattern of a response's header is another", func(d *openapi3.T) { d.Components.Headers["X-Request-Id"].Value.Schema.Value.Pattern = "^.*$" }},
	{"an operation has a server of its own", func(d *openapi3.T) {
		list(d).Servers = &openapi3.Servers{{URL: "https://lists.example.com/v1"}}
	}},
	{"a path has a server of its own", func(d *openapi3.T) {
		d.Paths.Value("/pets").Servers = openapi3.Servers{{URL: "https://pets.example.com/v1"}}
	}},
	{"parameters stand in another order", func(d *openapi3.T) { slices.Reverse(list(d).Parameters) }},
	{"a parameter is new before others", func(d *openapi3.T) {
		name := openapi3.NewQueryParameter("name").WithSchema(openapi3.NewStringSchema())
		list(d).Parameters = slices.Insert(list(d).Parameters, 0, &openapi3.ParameterRef{Value: name})
	}},
	{"a parameter must be a multiple", func(d *openapi3.T) { limit(d).Schema.Value.MultipleOf = ptr(10.0) }},
	{"a parameter is written otherwise", func(d *openapi3.T) { limit(d).Style = "pipeDelimited" }},
	{"a body may no longer have other properties", func(d *openapi3.T) {
		schema(d, "NewPet").AdditionalProperties = openapi3.AdditionalProperties{Has: ptr(false)}
	}},
	{"a body must not be what it was", func(d *openapi3.T) {
		schema(d, "NewPet").Not = &openapi3.SchemaRef{Value: &openapi3.Schema{Required: []string{"status"}}}
	}},
	{"a type has no name any more", func(d *openapi3.T) {
		create(d).RequestBody.Value.Content["application/json"].Schema.Ref = ""
	}},
	{"the type of an element has no name any more", func(d *openapi3.T) { schema(d, "Pets").Items.Ref = "" }},
	{"the document is for other generators", func(d *openapi3.T) { d.OpenAPI = "3.1.0" }},
}

// harmless are the changes by which the contract may grow.
var harmless = []mutation{
	{"nothing", func(*openapi3.T) {}},
	{"an operation is new", func(d *openapi3.T) {
		o := *list(d)
		o.OperationID = "listOrders"
		d.Paths.Set("/store/orders", &openapi3.PathItem{Get: &o})
	}},
	{"an optional parameter is new", func(d *openapi3.T) {
		list(d).AddParameter(openapi3.NewQueryParameter("name").WithSchema(openapi3.NewStringSchema()))
	}},
	{"an optional header of requests is new", func(d *openapi3.T) {
		list(d).AddParameter(openapi3.NewHeaderParameter("X-Client").WithSchema(openapi3.NewStringSchema()))
	}},
	{"an optional property of requests is new", func(d *openapi3.T) {
		schema(d, "NewPet").Properties["born"] = openapi3.NewSchemaRef("", openapi3.NewStringSchema())
	}},
	{"a property of responses is new", func(d *openapi3.T) {
		schema(d, "Pet").Properties["born"] = openapi3.NewSchemaRef("", openapi3.NewStringSchema())
		schema(d, "Pet").Required = append(schema(d, "Pet").Required, "born")
	}},
	{"a property of responses is always there", func(d *openapi3.T) { schema(d, "Pet").Required = append(schema(d, "Pet").Required, "status") }},
	{"a header of responses is new", func(d *openapi3.T) {
		list(d).Responses.Value("200").Value.Headers["X-Count"] = &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{Schema: openapi3.NewSchemaRef("", openapi3.NewIntegerSchema())}}}
	}},
	{"an error is new", func(d *openapi3.T) {
		list(d).Responses.Set("409", list(d).Responses.Value("503"))
		replaceInTable(d, "| 413 | `", "| 409 | `conflict` | it was changed meanwhile |\n| 413 | `")
	}},
	{"a maximum of a request is raised", func(d *openapi3.T) { limit(d).Schema.Value.Max = ptr(200.0) }},
	{"a maximum of a response is lowered", func(d *openapi3.T) { property(d, "Pet", "id").Max = ptr(1e9) }},
	{"a pattern of a request is removed", func(d *openapi3.T) { property(d, "NewPet", "name").Pattern = "" }},
	{"a default says what was done without one", func(d *openapi3.T) { after(d).Schema.Value.Default = 0 }},
	{"values stand in another order", func(d *openapi3.T) { slices.Reverse(schema(d, "PetStatus").Enum) }},
	{"prose and examples", func(d *openapi3.T) {
		list(d).Description, list(d).Summary, schema(d, "Pet").Example = "x", "y", nil
	}},
	{"an operation has one tag more", func(d *openapi3.T) { list(d).Tags = append(list(d).Tags, "animals") }},
	{"a server is new", func(d *openapi3.T) { d.AddServer(&openapi3.Server{URL: "https://eu.example.com/v1"}) }},
	{"a schema is new", func(d *openapi3.T) {
		d.Components.Schemas["Order"] = openapi3.NewSchemaRef("", openapi3.NewObjectSchema())
	}},
	{"a link is new", func(d *openapi3.T) {
		create(d).Responses.Value("201").Value.Links["all"] = &openapi3.LinkRef{Value: &openapi3.Link{OperationID: "listPets"}}
	}},
	{"another security scheme will do too", func(d *openapi3.T) {
		d.Components.SecuritySchemes["other"] = &openapi3.SecuritySchemeRef{Value: openapi3.NewJWTSecurityScheme()}
		list(d).Security = &openapi3.SecurityRequirements{{"bearerAuth": {}}, {"other": {}}}
	}},
	{"an operation is deprecated and has a sunset", func(d *openapi3.T) {
		list(d).Deprecated = true
		list(d).Extensions = map[string]any{"x-sunset": "2032-01-01"}
	}},
}

// tool is the pinned oasdiff, which `make breaking` installs.
func tool(t *testing.T) oasdiff {
	t.Helper()
	path := os.Getenv("OASDIFF")
	if path == "" {
		t.Fatal("OASDIFF: got nothing, want the path of the program; run these tests by `make breaking`")
	}
	return oasdiff(path)
}

// mutated returns openapi.yaml, written anew, and its mutation.
func mutated(t *testing.T, change func(*openapi3.T)) (before, after []byte) {
	t.Helper()
	text := func(change func(*openapi3.T)) []byte {
		d, err := load("openapi.yaml", gen.Document)
		if err != nil {
			t.Fatal(err)
		}
		change(d)
		data, err := d.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	return text(func(*openapi3.T) {}), text(change)
}

func TestEveryChangeThatBreaksAClientFails(t *testing.T) {
	for _, m := range slices.Concat(seen, raised) {
		t.Run(m.name, func(t *testing.T) {
			before, after := mutated(t, m.change)
			found, err := breaks(context.Background(), tool(t), base{name: "before", document: before}, after)
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				t.Error("breaks: got none, want the change to fail")
			}
			t.Log(found)
		})
	}
}

func TestAChangeThatOasdiffDoesNotSeeMustBeListed(t *testing.T) {
	for _, m := range unseenByOasdiff {
		t.Run(m.name, func(t *testing.T) {
			before, after := mutated(t, m.change)
			found, err := breaks(context.Background(), tool(t), base{name: "before", document: before, released: true}, after)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, "add an entry below ### Changes") }) {
				t.Errorf("breaks: got %q, want an entry to be asked for", found)
			}
		})
	}
}

func TestEveryChangeByWhichTheContractGrowsPasses(t *testing.T) {
	for _, m := range harmless {
		t.Run(m.name, func(t *testing.T) {
			before, after := mutated(t, m.change)
			found, err := breaks(context.Background(), tool(t), base{name: "before", document: before}, after)
			if err != nil || len(found) > 0 {
				t.Errorf("breaks: got %q (%v), want none", found, err)
			}
		})
	}
}

// TestOasdiffSeesWhatIsSaidOfIt tells when a check here has become needless.
func TestOasdiffSeesWhatIsSaidOfIt(t *testing.T) {
	for _, group := range []struct {
		mutations []mutation
		own, ours bool // whether it is a break by oasdiff's own levels, and by ours
	}{{seen, true, true}, {raised, false, true}, {unseenByOasdiff, false, false}} {
		for _, m := range group.mutations {
			before, after := mutated(t, m.change)
			found := func(levels []byte, atLeast level) bool {
				changes, err := tool(t).changes(context.Background(), before, after, levels)
				if err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(changes, func(c change) bool { return c.Level >= atLeast })
			}
			if own, ours := found(nil, warning), found(severityLevels, failure); own != group.own || ours != group.ours {
				t.Errorf("%s: got a break by oasdiff's levels %t, by ours %t, want %t and %t: it belongs to another of the three tables", m.name, own, ours, group.own, group.ours)
			}
		}
	}
}

func TestEveryRuleOfOasdiffHasALevel(t *testing.T) {
	var rules []struct{ ID, Level string }
	if err := tool(t).run(context.Background(), &rules, "checks", "changelog", "--format", "json"); err != nil {
		t.Fatal(err)
	}
	levels := map[string]string{}
	for line := range strings.Lines(string(severityLevels)) {
		id, level, _ := strings.Cut(strings.TrimSpace(line), " ")
		levels[id] = level
	}
	for _, r := range rules {
		level, decided := levels[r.ID]
		switch {
		case !decided:
			t.Errorf("%s: got no level, want one in severity-levels.txt: err where it breaks a client, else info", r.ID)
		case level != "err" && (level != "info" || r.Level != "info"):
			t.Errorf("%s: got %s, want err, as oasdiff calls it %s", r.ID, level, r.Level)
		}
		delete(levels, r.ID)
	}
	for id := range levels {
		t.Errorf("%s: got a level, want none: oasdiff has no such rule", id)
	}
}

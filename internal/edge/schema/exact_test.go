package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// compile makes one schema of a document ready, in which Cat and Dog are two more.
func compile(t *testing.T, text string) *Schema {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(`openapi: 3.0.3
info: {title: One, version: 1.0.0}
paths: {}
components:
  schemas:
    Cat: {type: object, required: [lives], properties: {lives: {type: integer}}}
    Dog: {type: object, required: [bark], properties: {bark: {type: number}}}
    One: ` + text + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Compile(&openapi3.SchemaRef{Ref: "#/components/schemas/One", Value: doc.Components.Schemas["One"].Value})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// decode returns a value as the edge decodes it.
func decode(t *testing.T, text string) (value any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// TestAValueIsHeldExactly has the values that kin-openapi allows although the
// document does not, and their neighbours; "" is no violation.
func TestAValueIsHeldExactly(t *testing.T) {
	const notWhole, notUnique = "must be an integer", "must not have the same item twice"
	const free, large = "{type: array, items: {}}", "[0] must be a number that 64 bits can hold (IEEE 754)"
	for _, c := range []struct{ schema, value, want string }{
		{"{type: integer}", `7`, ""},
		{"{type: integer}", `7.0`, notWhole},
		{"{type: integer}", `1e2`, notWhole},
		{"{type: integer}", `9223372036854775808`, notWhole},
		{"{type: integer, format: int64}", `9223372036854775808`, "must be an integer between -9223372036854775808 and 9223372036854775807"},
		{"{type: integer, multipleOf: 2}", `9007199254740992`, ""},
		{"{type: integer, multipleOf: 2}", `9007199254740993`, "must be a multiple of 2"},
		{"{type: integer, multipleOf: 5}", `4503599627370499`, "must be a multiple of 5"},
		{"{type: number, multipleOf: 0.1}", `0.3`, ""},
		{"{type: number, multipleOf: 0.1}", `0.30000000000000004`, "must be a multiple of 0.1"},
		{"{type: array, uniqueItems: true, items: {type: number}}", `[1, 2.0]`, ""},
		{"{type: array, uniqueItems: true, items: {type: number}}", `[1, 1.0]`, notUnique},
		{"{type: array, uniqueItems: true, items: {}}", `[{"a":1,"b":[2]}, {"b":[2e0],"a":1.0}]`, notUnique},
		{free, `[1, {"a": [1e308]}]`, ""},
		{free, `[1e400]`, large},
		{free, `[{"a": [1e400]}]`, "[0].a[0] must be a number that 64 bits can hold (IEEE 754)"},
		{"{type: object, properties: {a: {type: integer}}}", `{"b": 1e400}`, ""}, // ignored
		{"{type: object, properties: {a: {type: integer}, b: {type: integer}}}", `{"b": 1.0, "a": 2.0}`, "a must be an integer"},
		{"{type: object, properties: {id: {type: integer, readOnly: true, nullable: true}}}", `{"id": null}`, "id is set by the service and must not be sent"},
		{"{allOf: [{$ref: '#/components/schemas/Cat'}, {type: object}]}", `{"lives": 7.0}`, "lives must be an integer"},
		{"{anyOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}", `{"lives": 7.0}`, "must be at least one of Cat, Dog"},
		{"{anyOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}]}", `{"lives": 7.0, "bark": 7.0}`, ""},
		{"{oneOf: [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: k}}", `{"k": "Cat", "lives": 7.0}`, "lives must be an integer"},
	} {
		s := compile(t, c.schema)
		got := ""
		if v := s.Check(decode(t, c.value)); v != nil {
			got = strings.TrimPrefix(v.Place("")+" "+v.Message, " ")
		}
		if got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.value, c.schema, got, c.want)
		}
	}
}

// TestTheDiscriminatorNamesTheMember holds unions of either kind to the member that
// the value names, with and without a mapping.
func TestTheDiscriminatorNamesTheMember(t *testing.T) {
	for _, union := range []string{"oneOf", "anyOf"} {
		for mapping, cat := range map[string]string{"": "Cat", ", mapping: {c: Cat, d: '#/components/schemas/Dog'}": "c"} {
			s := compile(t, "{"+union+": [{$ref: '#/components/schemas/Cat'}, {$ref: '#/components/schemas/Dog'}], discriminator: {propertyName: k"+mapping+"}}")
			for value, want := range map[string]string{
				`{"k": "` + cat + `", "lives": 1}`:            "",
				`{"k": "` + cat + `", "lives": 1, "bark": 1}`: "",
				`{"k": "` + cat + `", "bark": 1}`:             "lives is required",
				`{"k": "` + cat + `", "lives": "1"}`:          "lives must be an integer",
				`{"k": "cow", "lives": 1}`:                    "k must be one of " + map[string]string{"Cat": "Cat, Dog", "c": "c, d"}[cat],
				`{"lives": 1}`:                                "k is required",
				`[]`:                                          "must be an object",
				`null`:                                        "must be an object",
			} {
				got := ""
				if v := s.Check(decode(t, value)); v != nil {
					got = strings.TrimPrefix(v.Place("")+" "+v.Message, " ")
				}
				if got != want {
					t.Errorf("%s%s of %s: got %q, want %q", union, mapping, value, got, want)
				}
			}
		}
	}
}

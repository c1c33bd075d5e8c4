package schema

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"

	"example.com/petstore/internal/edge/constructs"
)

// TestKinOpenAPIAllowsWhatIsAllowedHere gives the same random values to both: a
// value that passes here and not there breaks the document.
func TestKinOpenAPIAllowsWhatIsAllowedHere(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(constructs.Document)
	if err != nil {
		t.Fatal(err)
	}
	passed := 0
	for name, ref := range doc.Components.Schemas {
		t.Run(name, func(t *testing.T) {
			ref := &openapi3.SchemaRef{Ref: "#/components/schemas/" + name, Value: ref.Value}
			s, err := Compile(ref)
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(t *rapid.T) {
				value := anyValue(ref.Value, 4).Draw(t, "value")
				violation := s.check(value)
				kin := ref.Value.VisitJSON(value, openapi3.VisitAsRequest())
				if violation == nil {
					passed++
				}
				if violation == nil && kin != nil {
					data, _ := json.Marshal(value)
					t.Fatalf("%s: got it allowed, want it refused as kin-openapi does: %v", data, kin)
				}
			})
		})
	}
	if passed < 100 {
		t.Errorf("random values of all schemas: got %d that are allowed, want at least 100", passed)
	}
}

// wellFormed has a text of each format.
var wellFormed = map[string]string{
	"date": "2024-02-29", "date-time": "2024-02-29T00:00:00Z", "email": "a@example.com",
	"uuid": "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "byte": "+/8=",
}

// anyValue draws values of a schema and near it.
func anyValue(s *openapi3.Schema, depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		if depth == 0 || rapid.IntRange(0, 49).Draw(t, "stray") == 0 {
			return rapid.SampledFrom([]any{nil, true, "x", json.Number("1"), json.Number("1.5"), []any{}, map[string]any{}}).Draw(t, "other")
		}
		if len(s.Enum) > 0 && rapid.Bool().Draw(t, "listed") {
			return asJSON(rapid.SampledFrom(s.Enum).Draw(t, "enum"))
		}
		if members := append(s.OneOf, s.AnyOf...); len(members) > 0 {
			value := anyValue(rapid.SampledFrom(members).Draw(t, "member").Value, depth).Draw(t, "value")
			if object, ok := value.(map[string]any); ok && s.Discriminator != nil {
				object[s.Discriminator.PropertyName] = rapid.SampledFrom([]any{"cat", "dog", "Cat", "Beside", "cow"}).Draw(t, "kind")
			}
			return value
		}
		object := map[string]any{}
		for _, member := range s.AllOf {
			if part, ok := anyValue(member.Value, depth).Draw(t, "part").(map[string]any); ok {
				for k, v := range part {
					object[k] = v
				}
			}
		}
		switch {
		case s.Type.Is("string"):
			if text := wellFormed[s.Format]; text != "" && rapid.IntRange(0, 9).Draw(t, "form") > 0 {
				return text
			}
			return rapid.SampledFrom([]string{"", "a", "ab", "abcde", "abcdef", "ABC", "2024-02-29", "2024-02-30", "2024-02-29T00:00:00Z", "a@example.com", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "+/8=", "123"}).Draw(t, "text")
		case s.Type.Is("integer"), s.Type.Is("number"):
			return json.Number(rapid.SampledFrom([]string{"-6", "-1", "0", "1", "2", "5", "9", "10", "1000", "1005", "0.5", "0.29", "0.001", "1e2", "2147483648", "9007199254740993", "9223372036854775808"}).Draw(t, "number"))
		case s.Type.Is("boolean"):
			return rapid.Bool().Draw(t, "flag")
		case s.Type.Is("array"):
			return rapid.Custom(func(t *rapid.T) any {
				return append([]any{}, rapid.SliceOfN(anyValue(s.Items.Value, depth-1), 0, 4).Draw(t, "items")...)
			}).Draw(t, "array")
		}
		for name, property := range s.Properties {
			if slices.Contains(s.Required, name) || rapid.IntRange(0, 9).Draw(t, name) > 7 {
				object[name] = anyValue(property.Value, depth-1).Draw(t, strings.ToUpper(name))
			}
		}
		if rapid.Bool().Draw(t, "more") {
			object["other"] = json.Number("1")
		}
		return object
	})
}

// asJSON turns what YAML has into what a body has.
func asJSON(value any) any {
	data, _ := json.Marshal(value)
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	var out any
	_ = d.Decode(&out)
	return out
}

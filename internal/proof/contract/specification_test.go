package contract

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/example"
)

// TestSpecification compares what the other tests read from openapi.yaml with the
// contract as it was given: servers, parameters, names of operations, and deprecations.
// `make breaking` compares the rest.
func TestSpecification(t *testing.T) {
	given, err := openapi3.NewLoader().LoadFromFile("specification.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document := example.Document()
	for i, name := range []string{"`base_url`", "`staging_base_url`"} {
		if got := document.Servers[i]; got.URL != given.Servers[i].URL || !strings.Contains(got.Description, name) {
			t.Errorf("server %d: got %s, %q, want %s and %s in its description", i+1, got.URL, got.Description, given.Servers[i].URL, name)
		}
	}
	for path, item := range given.Paths.Map() {
		for method, o := range item.Operations() {
			got, want := summary(document.Paths.Value(path).Operations()[method], o), summary(o, o)
			if got != want {
				t.Errorf("%s %s: got %s, want %s", method, path, got, want)
			}
		}
	}
}

// summary returns what TestSpecification compares, of the parameters that were given.
func summary(o, given *openapi3.Operation) string {
	all := []any{o.OperationID, o.Deprecated, o.Extensions["x-sunset"]}
	for _, p := range given.Parameters {
		s := o.Parameters.GetByInAndName(p.Value.In, p.Value.Name).Schema.Value
		all = append(all, p.Value.Name, openapi3.Schema{Type: s.Type, Enum: s.Enum, Default: s.Default, Min: s.Min, Max: s.Max})
	}
	return encode(all)
}

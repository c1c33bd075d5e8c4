package contract

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/example"
)

// TestSpecification compares what the other tests read from openapi.yaml with the contract as it was
// given: servers, names of operations, and deprecations. `make breaking` compares the rest.
func TestSpecification(t *testing.T) {
	given, err := openapi3.NewLoader().LoadFromFile("specification.yaml")
	if err != nil {
		t.Fatal(err)
	}
	document := example.OpenAPI()
	for i, name := range []string{"Production", "Staging"} { // tools show them as names
		if got := document.Servers[i]; got.URL != given.Servers[i].URL || got.Description != name {
			t.Errorf("server %d: got %s, %q, want %s, %s", i+1, got.URL, got.Description, given.Servers[i].URL, name)
		}
	}
	for path, item := range given.Paths.Map() {
		for method, o := range item.Operations() {
			got := document.Paths.Value(path).Operations()[method]
			if got.OperationID != o.OperationID || got.Deprecated != o.Deprecated || got.Extensions["x-sunset"] != o.Extensions["x-sunset"] {
				t.Errorf("%s %s: got %s, deprecated %v, %v, want %s, deprecated %v, %v", method, path,
					got.OperationID, got.Deprecated, got.Extensions, o.OperationID, o.Deprecated, o.Extensions)
			}
		}
	}
}

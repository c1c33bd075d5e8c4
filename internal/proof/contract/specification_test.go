package contract

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"

	"example.com/petstore/internal/example"
)

// TestSpecification compares what the other tests read from openapi.yaml with the contract as it was
// given: servers, names of operations, and deprecations. `make breaking` compares the rest.
func TestSpecification(t *testing.T) {
	given, document := example.Must(openapi3.NewLoader().LoadFromFile("specification.yaml")), example.OpenAPI()
	for i, name := range []string{"Production", "Staging"} { // tools show them as names
		assert.Equal(t, given.Servers[i].URL, document.Servers[i].URL)
		assert.Equal(t, name, document.Servers[i].Description)
	}
	for path, item := range given.Paths.Map() {
		for method, o := range item.Operations() {
			got := document.Paths.Value(path).Operations()[method]
			assert.Equal(t, o.OperationID, got.OperationID)
			assert.Equal(t, o.Deprecated, got.Deprecated, o.OperationID)
			assert.Equal(t, o.Extensions["x-sunset"], got.Extensions["x-sunset"], o.OperationID)
		}
	}
}

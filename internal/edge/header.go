package edge

import (
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkHeaders refuses what the validator and the generated code would read as
// another value than was sent: they take the first of two headers, and an
// empty one for none.
func (op *operation) checkHeaders(h http.Header) error {
	for _, name := range op.headers {
		switch values := h[name]; {
		case len(values) > 1:
			return invalidRequest(name + " must be given only once")
		case len(values) == 1 && values[0] == "":
			return invalidRequest(name + " must not be empty")
		}
	}
	return nil
}

// explainHeader makes the client's sentence of a header parameter that the
// document does not allow; e is nil where it is not even of the right type.
func explainHeader(p *openapi3.Parameter, e *openapi3.SchemaError) *problem {
	if e == nil {
		return invalidRequest(p.Name + " must be " + expected(p.Schema.Value))
	}
	return invalidRequest(violation(p.Name, e))
}

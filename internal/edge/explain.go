package edge

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
)

// explain makes the client's sentence of a validation error. Nothing of the
// error's own text is used: it shows the schema and Go's words.
func explain(err error) (*problem, bool) {
	schema, isSchema := errors.AsType[*openapi3.SchemaError](err)
	request, isRequest := errors.AsType[*openapi3filter.RequestError](err)
	switch {
	case isRequest && request.Parameter.In == openapi3.ParameterInHeader:
		return explainHeader(request.Parameter, schema), true
	case isRequest && isSchema:
		return invalidParameter(violation(request.Parameter.Name, schema)), true
	case isRequest && errors.Is(request.Err, openapi3filter.ErrInvalidRequired):
		return invalidParameter(request.Parameter.Name + " is required"), true
	case isRequest:
		return invalidParameter(request.Parameter.Name + " must be " + expected(request.Parameter.Schema.Value)), true
	case isSchema:
		return invalidBody(violation(strings.Join(schema.JSONPointer(), "."), schema)), true
	}
	return nil, false
}

// violation says which rule of the document the value at name breaks.
func violation(name string, e *openapi3.SchemaError) string {
	if name == "" {
		name = "the body"
	}
	switch e.SchemaField {
	case "required":
		return name + " is required"
	case "pattern":
		if text, ok := e.Schema.Extensions["x-pattern-message"].(string); ok {
			return name + " " + text
		}
		return name + " must match the pattern " + e.Schema.Pattern
	case "minimum", "maximum":
		if text, ok := bounds(e.Schema); ok {
			return name + " must be " + text
		}
	}
	return name + " must be " + expected(e.Schema)
}

// expected describes the values a schema allows.
func expected(s *openapi3.Schema) string {
	switch {
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		return "one of " + strings.Join(values, ", ")
	case s.Type.Is("integer"):
		if text, ok := bounds(s); ok {
			return "an integer " + text
		}
		return "an integer"
	case s.Type.Is("array"), s.Type.Is("object"):
		return "an " + s.Type.Slice()[0]
	case len(s.Type.Slice()) == 1:
		return "a " + s.Type.Slice()[0]
	}
	return "as the document describes it"
}

// bounds describes the range of a numeric schema, if it has one.
func bounds(s *openapi3.Schema) (string, bool) {
	low, high := "", ""
	if s.Format == "int64" {
		low, high = strconv.Itoa(math.MinInt64), strconv.Itoa(math.MaxInt64)
	}
	if s.Min != nil {
		low = strconv.FormatFloat(*s.Min, 'f', -1, 64)
	}
	if s.Max != nil {
		high = strconv.FormatFloat(*s.Max, 'f', -1, 64)
	}
	switch {
	case low != "" && high != "":
		return "between " + low + " and " + high, true
	case low != "":
		return "at least " + low, true
	case high != "":
		return "at most " + high, true
	}
	return "", false
}

package edge

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

// validation keeps the value it has validated, for validatedBinder, and leaves
// the request as it came: defaults are the service's.
var validation = &openapi3filter.Options{
	KeepValidatedValue:  true,
	SkipSettingDefaults: true,
	AuthenticationFunc:  openapi3filter.NoopAuthenticationFunc,
}

// validate holds the request against the document.
func (op *operation) validate(c echo.Context, r *http.Request) error {
	query, err := op.parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request:     r,
		PathParams:  pathParams(c),
		QueryParams: query,
		Route:       op.route,
		Options:     validation,
	})
}

func pathParams(c echo.Context) map[string]string {
	names := c.ParamNames()
	if len(names) == 0 {
		return nil
	}
	params := make(map[string]string, len(names))
	for i, name := range names {
		params[name] = c.ParamValues()[i]
	}
	return params
}

// parseQuery reads the query string, in which nothing may be lost: net/url
// drops what it cannot read, and the generated code takes the first of two
// values and a default for an empty one.
func (op *operation) parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return url.Values{}, nil
	}
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalidParameter("the query string is malformed: % must be followed by two hexadecimal digits, and ; be sent as %3B")
	}
	for name, values := range query {
		if !slices.Contains(op.query, name) {
			continue
		}
		if len(values) > 1 {
			return nil, invalidParameter(name + " must be given only once")
		}
		if values[0] == "" {
			return nil, invalidParameter(name + " must not be empty")
		}
	}
	return query, nil
}

// explain makes the client's sentence of a validation error. Nothing of the
// error's own text is used: it shows the schema and Go's words.
func explain(e *openapi3filter.RequestError) *problem {
	schema, isSchema := errors.AsType[*openapi3.SchemaError](e.Err)
	switch {
	case e.Parameter != nil && isSchema:
		return invalidParameter(violation(e.Parameter.Name, schema))
	case e.Parameter != nil && errors.Is(e.Err, openapi3filter.ErrInvalidRequired):
		return invalidParameter(e.Parameter.Name + " is required")
	case e.Parameter != nil:
		return invalidParameter(e.Parameter.Name + " must be " + expected(e.Parameter.Schema.Value))
	case isSchema:
		return invalidBody(violation(strings.Join(schema.JSONPointer(), "."), schema))
	case errors.Is(e.Err, openapi3filter.ErrInvalidRequired):
		return invalidBody("a body is required")
	}
	if p, ok := errors.AsType[*problem](e.Err); ok {
		return p
	}
	return nil
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

package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// validate checks the parameters against the document. It leaves defaults to the
// service, and the body to binder.
func (op *operation) validate(c echo.Context) error {
	r := c.Request()
	if r.URL.RawPath != "" { // see canonicalPath; from here on, parameters are decoded
		for i, value := range c.ParamValues() {
			c.ParamValues()[i], _ = url.PathUnescape(value)
		}
		r.URL.RawPath = ""
	}
	// QueryParams omits what it cannot parse.
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return badRequest("invalid_parameter", "the query string is malformed or has too many parameters: % must be followed by two hexadecimal digits, and ; must be written as %3B")
	}
	if err := op.checkParameters(c); err != nil {
		return err
	}
	pathParams := make(map[string]string, len(c.ParamNames()))
	for i, name := range c.ParamNames() {
		pathParams[name] = c.ParamValues()[i]
	}
	err := openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{
		Request: r, PathParams: pathParams, QueryParams: c.QueryParams(), Route: op.route, Options: filterOptions,
	})
	if failed, ok := errors.AsType[*openapi3filter.RequestError](err); ok && failed.Parameter != nil {
		return parameterProblem(failed.Parameter, describe(failed.Err, failed.Parameter.Name))
	}
	return err
}

// binder validates the body.
var filterOptions = &openapi3filter.Options{SkipSettingDefaults: true, ExcludeRequestBody: true}

// checkParameters rejects what openapi3filter accepts: parameters given twice, and
// values that are not written as in JSON or not in UTF-8.
func (op *operation) checkParameters(c echo.Context) error {
	for _, p := range op.params {
		var values []string
		switch p.In {
		case openapi3.ParameterInQuery:
			values = c.QueryParams()[p.Name]
		case openapi3.ParameterInHeader:
			values = c.Request().Header[http.CanonicalHeaderKey(p.Name)]
		case openapi3.ParameterInPath:
			values = []string{c.Param(p.Name)}
		}
		schema := p.Schema.Value
		if schema.Type.Is("array") {
			schema = schema.Items.Value
		} else if len(values) > 1 {
			return parameterProblem(p, p.Name+" must be given only once")
		}
		for _, text := range values {
			if message := checkValue(schema, text); message != "" {
				return parameterProblem(p, p.Name+" "+message)
			}
		}
	}
	return nil
}

// checkServed returns an error for a parameter that checkParameters cannot read.
func checkServed(p *openapi3.Parameter) error {
	method, err := p.SerializationMethod()
	if err != nil || p.Schema == nil || p.In == openapi3.ParameterInCookie || method.Style != openapi3.SerializationForm && method.Style != openapi3.SerializationSimple {
		return fmt.Errorf("the parameter %s must have a schema, and be in query, path or header in the usual style", p.Name)
	}
	schema := p.Schema.Value
	if schema.Type.Is("array") && p.In == openapi3.ParameterInQuery && method.Explode { // ?tag=a&tag=b
		schema = schema.Items.Value
	}
	if !isSingle(schema) {
		return fmt.Errorf("the parameter %s must have the type string, integer, number or boolean, or in the query be an exploded array of one of them", p.Name)
	}
	return nil
}

func isSingle(s *openapi3.Schema) bool {
	return s.Type.Is("string") || s.Type.Is("integer") || s.Type.Is("number") || s.Type.Is("boolean")
}

// checkValue returns what is wrong with the text of a parameter, or "".
func checkValue(schema *openapi3.Schema, text string) string {
	switch {
	case schema.Type.Is("integer"):
		if _, err := strconv.ParseInt(text, 10, bits(schema)); err != nil || !numberForm.MatchString(text) {
			return describeType(schema)
		}
	case schema.Type.Is("number") && !numberForm.MatchString(text), schema.Type.Is("boolean") && text != "true" && text != "false":
		return describeType(schema)
	case !utf8.ValidString(text):
		return "must be in UTF-8"
	}
	return ""
}

// parameterProblem returns the 400 for a parameter.
func parameterProblem(p *openapi3.Parameter, sentence string) *Problem {
	if p.In == openapi3.ParameterInHeader {
		return badRequest("invalid_request", sentence)
	}
	return badRequest("invalid_parameter", sentence)
}

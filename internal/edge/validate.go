package edge

import (
	"net/url"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/labstack/echo/v4"
)

// validation leaves the request as it came: defaults are the service's.
var validation = &openapi3filter.Options{SkipSettingDefaults: true}

// validate holds the request against the document: its query string, its
// parameters, its body. openapi3filter.ValidateRequest would do the last two,
// after it has read the body for the credentials' sake and once more for its
// own: 14 allocations of a create.
func (op *operation) validate(x *exchange) (err error) {
	r := x.Request()
	if x.query, err = op.parseQuery(r.URL.RawQuery); err != nil {
		return err
	}
	if err := op.checkHeaders(r.Header); err != nil {
		return err
	}
	x.input = openapi3filter.RequestValidationInput{
		Request:     r,
		PathParams:  pathParams(x),
		QueryParams: x.query,
		Options:     validation,
	}
	for _, p := range op.parameters {
		if p.Value.In == openapi3.ParameterInQuery && !p.Value.Required && !x.query.Has(p.Value.Name) {
			continue // nothing to validate, at the price of two allocations
		}
		if p.Value.In == openapi3.ParameterInHeader && !p.Value.Required && r.Header.Get(p.Value.Name) == "" {
			continue // the same
		}
		if err := openapi3filter.ValidateParameter(r.Context(), &x.input, p.Value); err != nil {
			return err
		}
	}
	if op.body != nil {
		x.body, err = op.validateBody(x)
	}
	return err
}

// validateBody reads the body and returns its value.
func (op *operation) validateBody(x *exchange) (any, error) {
	data, err := readBody(x.Request())
	if err != nil {
		return nil, err
	}
	defer data.release()
	x.bodyRead = true
	if x.closesUnread {
		delete(x.Response().Header(), "Connection")
	}
	value, err := decodeJSON(data.Bytes())
	if err != nil {
		return nil, err
	}
	if err := checkIntegers(op.body, value, nil); err != nil {
		return nil, err
	}
	return value, op.body.VisitJSON(value, openapi3.VisitAsRequest())
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

var noQuery = url.Values{}

// parseQuery reads the query string, in which nothing may be lost: net/url
// drops what it cannot read, and the generated code takes the first of two
// values and a default for an empty one.
func (op *operation) parseQuery(raw string) (url.Values, error) {
	if raw == "" {
		return noQuery, nil
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

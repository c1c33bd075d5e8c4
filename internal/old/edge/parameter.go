package edge

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"example.com/petstore/internal/old/edge/schema"
)

// parameter is a parameter of an operation, made ready once at the start. It is
// read exactly as the generated code binds it, so that the service gets what was
// checked: form in the query string, simple elsewhere, and deepObject for objects.
type parameter struct {
	*schema.Schema

	name, in   string
	required   bool
	kind       string   // of the values
	properties []string // of an object
	explode    bool     // each item of an array has the name before it
}

// read checks the parameter in the request that c holds, whose query string is query.
func (p *parameter) read(c echo.Context, query url.Values) error {
	var values []string
	switch {
	case p.kind == "object":
		return p.readObject(query)
	case p.in == openapi3.ParameterInPath:
		values = []string{c.Param(p.name)}
	case p.in == openapi3.ParameterInHeader:
		values = c.Request().Header[p.name]
	default:
		values = query[p.name]
	}
	switch {
	case len(values) == 0 && p.required:
		return p.invalid(p.name + " is required")
	case len(values) == 0:
		return nil
	case p.explode:
		return p.check(nil, values)
	case len(values) > 1:
		return p.invalid(p.name + " must be given only once")
	case values[0] == "":
		return p.invalid(p.name + " must not be empty")
	case p.kind == "array":
		return p.check(nil, strings.Split(values[0], ","))
	}
	return p.check(nil, values)
}

func (p *parameter) invalid(message string) error {
	if p.in == openapi3.ParameterInHeader {
		return invalidRequest(message)
	}
	return invalidParameter(message)
}

// check returns the client's error of texts that break the schema; of an object they
// are those of the properties. In a query string a plus is a space: a client that did
// not encode it is told so where that is the only fault.
func (p *parameter) check(properties, texts []string) error {
	v := p.find(properties, texts)
	if v == nil {
		return nil
	}
	message := p.key(v) + " " + v.Message
	if p.in == openapi3.ParameterInQuery {
		plus := make([]string, len(texts))
		for i, text := range texts {
			plus[i] = strings.ReplaceAll(text, " ", "+")
		}
		if !slices.Equal(plus, texts) && p.find(properties, plus) == nil {
			message += "; + in a query string is a space, and must be sent as %2B"
		}
	}
	return p.invalid(message)
}

func (p *parameter) find(properties, texts []string) *schema.Violation {
	switch p.kind {
	case "object":
		return p.CheckProperties(properties, texts)
	case "array":
		return p.CheckTexts(texts)
	}
	return p.CheckText(texts[0])
}

// key returns the name under which a client has sent the value that is wrong.
func (p *parameter) key(v *schema.Violation) string {
	if p.kind == "object" {
		if property := v.Property(); property != "" {
			return p.propertyKey(property)
		}
	}
	return v.Place(p.name)
}

// propertyKey returns the name that a property has in the query string.
func (p *parameter) propertyKey(property string) string { return p.name + "[" + property + "]" }

// readObject checks an object of scalars. It removes from query what looks like
// a property of it and is none: it is ignored like any unknown parameter.
func (p *parameter) readObject(query url.Values) error {
	var sent, texts []string
	for _, name := range p.properties {
		key := p.propertyKey(name)
		switch values, ok := query[key]; {
		case !ok:
			continue
		case len(values) > 1:
			return invalidParameter(key + " must be given only once")
		default:
			sent, texts = append(sent, name), append(texts, values[0])
		}
	}
	for key := range query {
		if rest, ok := strings.CutPrefix(key, p.name+"["); ok {
			if name, ok := strings.CutSuffix(rest, "]"); !ok || !slices.Contains(p.properties, name) {
				delete(query, key)
			}
		}
	}
	if len(sent) == 0 {
		if p.required {
			return invalidParameter(p.name + " is required")
		}
		return nil
	}
	return p.check(sent, texts)
}

// newParameters returns the parameters of an operation: its own, and those of
// its path that it does not replace.
func newParameters(item *openapi3.PathItem, o *openapi3.Operation) (parameters []*parameter, err error) {
	refs := slices.Clone(o.Parameters)
	for _, ref := range item.Parameters {
		if o.Parameters.GetByInAndName(ref.Value.In, ref.Value.Name) == nil {
			refs = append(refs, ref)
		}
	}
	for _, ref := range refs {
		if ref.Value.In == openapi3.ParameterInHeader && http.CanonicalHeaderKey(ref.Value.Name) == preferHeader {
			if err := checkPrefer(ref.Value); err != nil {
				return nil, err
			}
			continue // prefersStrict reads it
		}
		p, err := newParameter(ref.Value)
		if err != nil {
			return nil, fmt.Errorf("parameter %s in %s: %w", ref.Value.Name, ref.Value.In, err)
		}
		parameters = append(parameters, p)
	}
	return parameters, checkNames(parameters)
}

// checkPrefer returns an error unless the parameter is an optional text, as which
// prefersStrict leaves it.
func checkPrefer(p *openapi3.Parameter) error {
	if p.Required || p.Schema == nil || schema.Kind(p.Schema.Value) != "string" || len(p.Schema.Value.Enum) > 0 || p.Schema.Value.Pattern != "" {
		return errors.New("parameter Prefer in header: must be optional and a string without further rules, since preferences that are not known are ignored (RFC 7240, section 2)")
	}
	return nil
}

// headersTaken are read by HTTP, or by the edge itself, and are no parameters
// (OpenAPI 3.0.3, section 4.7.12.1).
var headersTaken = []string{"Accept", "Authorization", "Connection", "Content-Type", "Host", "Trailer", "Transfer-Encoding"}

func newParameter(p *openapi3.Parameter) (*parameter, error) {
	out := &parameter{name: p.Name, in: p.In, required: p.Required}
	switch p.In {
	case openapi3.ParameterInCookie:
		return nil, errors.New("the service reads no cookies")
	case openapi3.ParameterInHeader:
		out.name = http.CanonicalHeaderKey(p.Name)
		if slices.Contains(headersTaken, out.name) {
			return nil, errors.New("HTTP itself has this header; it cannot be a parameter")
		}
	}
	if p.AllowEmptyValue {
		return nil, errors.New("allowEmptyValue: the service refuses a parameter that is empty")
	}
	if p.Schema == nil {
		return nil, errors.New("content: the service reads parameters that have a schema alone")
	}
	method, err := p.SerializationMethod()
	if err != nil {
		return nil, err
	}
	if out.Schema, err = schema.Compile(p.Schema); err != nil {
		return nil, err
	}
	out.kind = schema.Kind(p.Schema.Value)
	out.explode = out.kind == "array" && p.In == openapi3.ParameterInQuery && method.Explode
	out.properties = slices.Sorted(maps.Keys(p.Schema.Value.Properties))
	return out, checkShape(p.Schema.Value, method.Style)
}

// checkShape refuses a style that the service does not read, and a schema that the
// generated code cannot bind from text, or binds to nothing in silence.
func checkShape(s *openapi3.Schema, style string) error {
	kind := schema.Kind(s)
	switch style {
	case openapi3.SerializationForm, openapi3.SerializationSimple:
		if kind == "object" {
			return errors.New("style " + style + ": the service binds objects in the query string alone, as deepObject")
		}
	case openapi3.SerializationDeepObject:
		return checkObject(s)
	default:
		return errors.New("style " + style + ": the service reads form, simple and deepObject alone")
	}
	switch kind {
	case "array":
		return checkArray(s)
	case "":
		return errors.New("its schema needs one type: the service cannot bind oneOf, anyOf or any value from text")
	}
	return nil
}

func checkArray(s *openapi3.Schema) error {
	if schema.IsComposed(s) || !schema.IsScalar(s.Items.Value) {
		return errors.New("the items of an array must be scalars")
	}
	switch items := s.Items.Value; {
	case items.Nullable:
		return errors.New("an item cannot be null")
	case format(items) == "byte":
		return errors.New("the service cannot bind the format byte in an array")
	}
	return nil
}

// format returns the format of a scalar schema, or "".
func format(s *openapi3.Schema) string {
	if s.Type == nil && len(s.AllOf) > 0 {
		return format(s.AllOf[0].Value)
	}
	return s.Format
}

func checkObject(s *openapi3.Schema) error {
	switch {
	case schema.Kind(s) != "object":
		return errors.New("style deepObject: its schema must be an object")
	case schema.IsComposed(s):
		return errors.New("the service cannot bind an object of allOf, oneOf or anyOf")
	case schema.HasOthers(s):
		return errors.New("the service cannot bind additionalProperties")
	}
	for name, ref := range s.Properties {
		switch property := ref.Value; {
		case !schema.IsScalar(property):
			return fmt.Errorf("property %s: the properties must be scalars", name)
		case property.Nullable:
			return fmt.Errorf("property %s: a property cannot be null", name)
		case format(property) == "byte", format(property) == "uuid":
			return fmt.Errorf("property %s: the service cannot bind the format %s in an object", name, format(property))
		}
	}
	return nil
}

// checkNames makes sure that no two parameters read the same part of the query
// string: the properties of an object have names of their own there.
func checkNames(parameters []*parameter) error {
	taken := map[string]string{}
	for _, p := range parameters {
		if p.in != openapi3.ParameterInQuery {
			continue
		}
		names := []string{p.name}
		if p.kind == "object" {
			names = nil
			for _, name := range p.properties {
				names = append(names, p.propertyKey(name))
			}
		}
		for _, name := range names {
			if other, ok := taken[name]; ok {
				return fmt.Errorf("parameters %s and %s are both called %s in the query string", other, p.name, name)
			}
			taken[name] = p.name
		}
	}
	return nil
}

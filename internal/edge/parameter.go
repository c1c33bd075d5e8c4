package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/edge/schema"
)

// parameter is a parameter of an operation, made ready once at the start. It is
// read exactly as the generated code binds it, so that the service gets what was
// checked.
type parameter struct {
	*schema.Schema

	name, in string
	style    string
	explode  bool
	required bool
	isJSON   bool // its content is a JSON text
}

// read checks the parameter in the request that x holds.
func (p *parameter) read(x *exchange) error {
	switch p.in {
	case openapi3.ParameterInPath:
		return p.readText(x, x.Param(p.name))
	case openapi3.ParameterInHeader:
		return p.readHeader(x)
	}
	if p.Kind() == "object" && !p.isJSON {
		return p.readObject(x.query)
	}
	values, ok := x.query[p.name]
	switch {
	case !ok && p.required:
		return invalidParameter(p.name + " is required")
	case !ok:
		return nil
	case p.Kind() == "array" && p.explode && !p.isJSON:
		return p.readItems(values)
	case len(values) > 1:
		return invalidParameter(p.name + " must be given only once")
	}
	return p.readText(x, values[0])
}

func (p *parameter) readHeader(x *exchange) error {
	values := x.Request().Header[p.name]
	switch {
	case len(values) == 0 && p.required:
		return invalidRequest(p.name + " is required")
	case len(values) == 0:
		return nil
	case len(values) > 1:
		return invalidRequest(p.name + " must be given only once")
	}
	return p.readText(x, values[0])
}

// readText checks a parameter that is one text.
func (p *parameter) readText(x *exchange, text string) error {
	switch {
	case text == "":
		return p.invalid(p.name, "must not be empty")
	case p.isJSON:
		return p.readJSON(x, text)
	case p.Kind() == "array":
		items, ok := p.split(text)
		if !ok {
			return p.invalid(p.name, "must begin with "+p.prefix())
		}
		return p.readItems(items)
	case p.style == openapi3.SerializationLabel || p.style == openapi3.SerializationMatrix:
		items, ok := p.split(text)
		if !ok {
			return p.invalid(p.name, "must begin with "+p.prefix())
		}
		if len(items) > 1 {
			return p.invalid(p.name, "must not contain a comma")
		}
		text = items[0]
	}
	if v := p.CheckText(text); v != nil {
		return p.invalid(p.name, v.Message)
	}
	return nil
}

// prefix is how a text of the styles label and matrix begins.
func (p *parameter) prefix() string {
	switch p.style {
	case openapi3.SerializationLabel:
		return "."
	case openapi3.SerializationMatrix:
		return ";" + p.name + "="
	}
	return ""
}

var separators = map[string]string{
	openapi3.SerializationSpaceDelimited: " ",
	openapi3.SerializationPipeDelimited:  "|",
}

// split returns the items of a text; not ok where it does not begin as its
// style has it.
func (p *parameter) split(text string) (items []string, ok bool) {
	rest, ok := strings.CutPrefix(text, p.prefix())
	if !ok {
		return nil, false
	}
	separator := separators[p.style]
	switch {
	case separator != "":
	case p.explode && p.prefix() != "":
		separator = p.prefix()
	default:
		separator = ","
	}
	return strings.Split(rest, separator), true
}

// readItems checks the items of an array.
func (p *parameter) readItems(texts []string) error {
	items := make([]any, len(texts))
	for i, text := range texts {
		if text == "" {
			return p.invalid(fmt.Sprintf("%s[%d]", p.name, i), "must not be empty")
		}
		items[i] = p.Items().Value(text)
	}
	if v := p.Check(items); v != nil {
		return p.invalid(v.Place(p.name), v.Message)
	}
	return nil
}

// readObject checks an object of scalars. It removes from query what looks like
// a property of it and is none: it is ignored like any unknown parameter.
func (p *parameter) readObject(query url.Values) error {
	object := map[string]any{}
	for name, property := range p.Properties() {
		key := p.key(name)
		values, ok := query[key]
		switch {
		case !ok:
			continue
		case len(values) > 1:
			return p.invalid(key, "must be given only once")
		case values[0] == "":
			return p.invalid(key, "must not be empty")
		}
		object[name] = property.Value(values[0])
	}
	if p.style == openapi3.SerializationDeepObject {
		for key := range query {
			if name, ok := strings.CutPrefix(key, p.name+"["); ok && p.Properties()[strings.TrimSuffix(name, "]")] == nil || ok && !strings.HasSuffix(name, "]") {
				delete(query, key)
			}
		}
	}
	if len(object) == 0 {
		if p.required {
			return p.invalid(p.name, "is required")
		}
		return nil
	}
	if v := p.Check(object); v != nil {
		if property := v.Property(); property != "" {
			return p.invalid(p.key(property), v.Message)
		}
		return p.invalid(p.name, v.Message)
	}
	return nil
}

// key returns the name that a property has in the query string.
func (p *parameter) key(property string) string {
	if p.style == openapi3.SerializationDeepObject {
		return p.name + "[" + property + "]"
	}
	return property
}

// readJSON checks a parameter that is a JSON text, and leaves in its place the
// value that was checked: the generated code reads it by encoding/json.
func (p *parameter) readJSON(x *exchange, text string) error {
	value, fault := decodeJSON([]byte(text))
	if fault != "" {
		return p.invalid(p.name, fault)
	}
	if v := p.Check(value); v != nil {
		return p.invalid(v.Place(p.name), v.Message)
	}
	p.Prune(value)
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	switch p.in {
	case openapi3.ParameterInQuery:
		x.query[p.name] = []string{string(data)}
	case openapi3.ParameterInHeader:
		x.Request().Header[p.name] = []string{string(data)}
	case openapi3.ParameterInPath:
		x.ParamValues()[slices.Index(x.ParamNames(), p.name)] = string(data)
	}
	return nil
}

// invalid makes the client's error of a rule that the value at place breaks.
func (p *parameter) invalid(place, message string) *problem {
	if p.in == openapi3.ParameterInHeader {
		return invalidRequest(place + " " + message)
	}
	return invalidParameter(place + " " + message)
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
		p, err := newParameter(ref.Value)
		if err != nil {
			return nil, fmt.Errorf("parameter %s in %s: %w", ref.Value.Name, ref.Value.In, err)
		}
		parameters = append(parameters, p)
	}
	return parameters, checkNames(parameters)
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
	ref := p.Schema
	if ref == nil {
		content := p.Content[mediaTypeJSON]
		if len(p.Content) != 1 || content == nil || content.Schema == nil {
			return nil, errors.New("its content is not " + mediaTypeJSON + " alone with a schema, which is all the service can read")
		}
		ref, out.isJSON = content.Schema, true
	} else {
		method, err := p.SerializationMethod()
		if err != nil {
			return nil, err
		}
		out.style, out.explode = method.Style, method.Explode
	}
	var err error
	if out.isJSON {
		out.Schema, err = schema.CompileBody(ref)
		return out, err
	}
	if out.Schema, err = schema.Compile(ref); err != nil {
		return nil, err
	}
	return out, out.checkShape()
}

// checkShape refuses a schema that the generated code cannot bind from text, or
// binds to nothing in silence.
func (p *parameter) checkShape() error {
	switch p.Kind() {
	case "array":
		return p.checkArray()
	case "object":
		return p.checkObject()
	case "":
		return errors.New("its schema needs one type: the service cannot bind oneOf, anyOf or any value from text")
	}
	if p.style != openapi3.SerializationLabel && p.style != openapi3.SerializationMatrix {
		return nil
	}
	if p.explode {
		return errors.New("explode says nothing of a single value: take it out")
	}
	if slices.Contains([]string{"date", "date-time", "uuid"}, p.Format()) {
		return fmt.Errorf("the service cannot bind the format %s in the style %s", p.Format(), p.style)
	}
	return nil
}

func (p *parameter) checkArray() error {
	items := p.Items()
	switch {
	case p.IsComposed() || items == nil || !items.IsScalar():
		return errors.New("the items of an array must be scalars")
	case items.Nullable():
		return errors.New("an item cannot be null")
	case items.Format() == "byte":
		return errors.New("the service cannot bind the format byte in an array")
	case p.style == openapi3.SerializationLabel && p.explode && (items.Kind() == "number" || items.Format() == "date-time"):
		return errors.New("exploded labels are separated by dots, which the items may have in them")
	}
	return nil
}

func (p *parameter) checkObject() error {
	switch {
	case p.in != openapi3.ParameterInQuery || !p.explode:
		return errors.New("the service binds objects in the query string alone, as deepObject or exploded form")
	case p.IsComposed():
		return errors.New("the service cannot bind an object of allOf, oneOf or anyOf")
	case p.HasOthers():
		return errors.New("the service cannot bind additionalProperties")
	}
	for name, property := range p.Properties() {
		switch format := property.Format(); {
		case !property.IsScalar():
			return fmt.Errorf("property %s: the properties must be scalars", name)
		case property.Nullable():
			return fmt.Errorf("property %s: a property cannot be null", name)
		case format == "byte", format == "uuid" && p.style == openapi3.SerializationDeepObject:
			return fmt.Errorf("property %s: the service cannot bind the format %s in an object", name, format)
		}
	}
	return nil
}

// checkNames makes sure that no two parameters read the same part of the query
// string: the properties of an exploded object have their own names there.
func checkNames(parameters []*parameter) error {
	taken := map[string]string{}
	for _, p := range parameters {
		if p.in != openapi3.ParameterInQuery {
			continue
		}
		names := []string{p.name}
		if p.Kind() == "object" && !p.isJSON {
			names = nil
			for name := range p.Properties() {
				names = append(names, p.key(name))
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

// Package schema holds values of requests against the schemas of the document.
//
// kin-openapi is the judge of every value, and explain makes the client's sentence
// of its verdict: which rule is broken, where, and what would keep it. Four things
// that kin-openapi does not do stand beside it, each in one file:
//
//	exact.go    it compares numbers as float64s, and takes 7.0 for an integer
//	text.go     it reads no texts, as parameters are
//	union.go    it knows a discriminator's values from the mapping alone
//	ignored.go  it keeps the properties that no schema names
//
// Compile refuses by name, when the service starts, a schema that kin-openapi or
// the generated code would not keep (refuse.go).
package schema

import (
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// Schema is a schema of the document, ready to check values. It may be used by
// any number of goroutines.
type Schema struct {
	document  *openapi3.Schema
	options   []openapi3.SchemaValidationOption
	valid     map[string]struct{} // the valid texts of a parameter, where they are few
	indirect  bool                // the generated type reads itself by encoding/json
	recursive bool                // values may have no more than maxLevels
}

// Compile makes a schema ready. Its error names the place in the schema and the
// keyword that the service does not start with, and says why. It writes the values
// that a discriminator implies into the document's schema, as its mapping.
func Compile(ref *openapi3.SchemaRef) (*Schema, error) {
	c := &compiler{done: map[*openapi3.Schema]bool{}}
	if err := c.ref(ref); err != nil {
		return nil, err
	}
	if err := c.checkRecursion(); err != nil {
		return nil, err
	}
	s := &Schema{document: ref.Value, options: options, indirect: c.indirect, recursive: c.recursive}
	if c.readOnly { // only then, since it makes kin-openapi sort the properties of every object
		s.options = append([]openapi3.SchemaValidationOption{openapi3.VisitAsRequest()}, options...)
	}
	s.checkFew()
	return s, nil
}

// options are those of every validation. The errors' own texts are not used, and
// would have the whole schema and value in them.
var options = []openapi3.SchemaValidationOption{
	openapi3.WithStringFormatValidators(stringFormats()),
	openapi3.WithNumberFormatValidators(map[string]openapi3.NumberFormatValidator{"float": validator(isFloat)}),
	openapi3.SetSchemaErrorMessageCustomizer(func(e *openapi3.SchemaError) string { return e.SchemaField }),
}

// CompileBody is Compile for the schema of a body, of which the generated code
// keeps less where it has no name.
func CompileBody(ref *openapi3.SchemaRef) (*Schema, error) {
	s := ref.Value
	switch {
	case s.Nullable:
		return nil, refusal("nullable", "of a whole body is lost: the method cannot tell null from a value")
	case ref.Ref == "" && len(s.AllOf) > 0:
		return nil, refusal("allOf", "of a body needs a name: move the schema to components")
	case ref.Ref == "" && len(s.Properties) > 0 && !isClosed(s) && (s.AdditionalProperties.Has != nil || s.AdditionalProperties.Schema != nil):
		return nil, refusal("additionalProperties", "beside properties of a body needs a name: move the schema to components")
	}
	return Compile(ref)
}

// Check tells how value, which is as encoding/json has it but for numbers
// (json.Number), breaks the schema; nil where it does not.
func (s *Schema) Check(value any) *Violation {
	if s.recursive && !isWithin(maxLevels, value) {
		return &Violation{Message: "must not be nested deeper than " + strconv.Itoa(maxLevels) + " levels"}
	}
	if err := s.document.VisitJSON(value, s.options...); err != nil {
		return s.explain(err, value)
	}
	return s.exact(s.document, value)
}

// holds reports whether Check of another schema, a part of this one, finds nothing.
func (s *Schema) holds(part *openapi3.Schema, value any) bool {
	return part.VisitJSON(value, s.options...) == nil && s.exact(part, value) == nil
}

// Kind returns the type of the values of s; "" where any value will do, or one of
// several types.
func Kind(s *openapi3.Schema) string {
	if types := s.Type.Slice(); len(types) == 1 {
		return types[0]
	}
	if len(s.AllOf) > 0 {
		return Kind(s.AllOf[0].Value)
	}
	return ""
}

// IsScalar reports whether the values of s are strings, numbers or booleans.
func IsScalar(s *openapi3.Schema) bool {
	switch Kind(s) {
	case "string", "integer", "number", "boolean":
		return true
	}
	return false
}

// IsComposed reports whether s has more than one schema for the same value.
func IsComposed(s *openapi3.Schema) bool { return len(s.AllOf)+len(s.OneOf)+len(s.AnyOf) > 0 }

// HasOthers reports whether objects may have properties without a name in s, which
// the generated code keeps.
func HasOthers(s *openapi3.Schema) bool {
	if isFree(s) {
		return true
	}
	has := s.AdditionalProperties.Has
	return s.Type.Is("object") && (s.AdditionalProperties.Schema != nil || has != nil && *has || has == nil && len(s.Properties) == 0)
}

// isFree reports whether a value of any type will do, and all of it is kept.
func isFree(s *openapi3.Schema) bool { return s.Type == nil && !IsComposed(s) }

func isClosed(s *openapi3.Schema) bool {
	return s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has
}

// property returns the schema of a property of objects of s, or nil where it is
// ignored.
func property(s *openapi3.Schema, name string) *openapi3.Schema {
	if ref := s.Properties[name]; ref != nil {
		return ref.Value
	}
	if ref := s.AdditionalProperties.Schema; ref != nil {
		return ref.Value
	}
	if HasOthers(s) {
		return anything
	}
	return nil
}

// items returns the schema of the items of arrays of s.
func items(s *openapi3.Schema) *openapi3.Schema {
	if s.Items != nil {
		return s.Items.Value
	}
	return anything
}

var anything = &openapi3.Schema{Nullable: true}

package schema

import (
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Indirect reports whether the generated type of the schema reads itself by
// encoding/json, which takes "NAME" for the property name. Values for it must
// be pruned first.
func (s *Schema) Indirect() bool { return s.indirect }

// Prune removes the properties from value, which Check allows, that no schema has
// checked: they are ignored.
func (s *Schema) Prune(value any) { s.prune(value, []*openapi3.Schema{s.document}) }

func (s *Schema) prune(value any, schemas []*openapi3.Schema) {
	schemas = s.applying(nil, schemas, value)
	if slices.ContainsFunc(schemas, isFree) {
		return
	}
	switch value := value.(type) {
	case []any:
		of := itemSchemas(schemas)
		for _, item := range value {
			s.prune(item, of)
		}
	case map[string]any:
		for name, v := range value {
			if known := propertySchemas(schemas, name); len(known) > 0 {
				s.prune(v, known)
			} else {
				delete(value, name)
			}
		}
	}
}

// applying adds to list the schemas that value was held against: of a union only
// the members that it keeps.
func (s *Schema) applying(list, schemas []*openapi3.Schema, value any) []*openapi3.Schema {
	if value == nil {
		return list
	}
	for _, d := range schemas {
		list = append(list, d)
		for _, member := range d.AllOf {
			list = s.applying(list, []*openapi3.Schema{member.Value}, value)
		}
		list = s.applying(list, s.chosen(d, value), value)
	}
	return list
}

// propertySchemas returns the schemas of a property: from the schemas that name it,
// or else from the schemas that keep properties without a name.
func propertySchemas(schemas []*openapi3.Schema, name string) (known []*openapi3.Schema) {
	for _, d := range schemas {
		if ref := d.Properties[name]; ref != nil {
			known = append(known, ref.Value)
		}
	}
	if len(known) > 0 {
		return known
	}
	for _, d := range schemas {
		if of := property(d, name); of != nil {
			known = append(known, of)
		}
	}
	return known
}

// itemSchemas returns what schemas say of the items of an array.
func itemSchemas(schemas []*openapi3.Schema) (of []*openapi3.Schema) {
	for _, d := range schemas {
		if d.Items != nil {
			of = append(of, d.Items.Value)
		}
	}
	return of
}

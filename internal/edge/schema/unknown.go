package schema

import (
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Unknown returns the first property of value, by name, that no schema names and that
// is therefore ignored. It returns its place, its name, and the names that are known
// there, in order. Where there is none, the name is "" and ok is false. Where value
// keeps no member of a oneOf or anyOf, no property below it is called unknown.
func (s *Schema) Unknown(value any) (v *Violation, name string, known []string, ok bool) {
	return s.unknown(value, []*openapi3.Schema{s.document})
}

func (s *Schema) unknown(value any, schemas []*openapi3.Schema) (v *Violation, name string, known []string, ok bool) {
	schemas = s.applying(nil, schemas, value)
	if slices.ContainsFunc(schemas, func(d *openapi3.Schema) bool { return isFree(d) || len(members(d)) > 0 && len(s.chosen(d, value)) == 0 }) {
		return nil, "", nil, false
	}
	switch value := value.(type) {
	case []any:
		of := itemSchemas(schemas)
		for i, item := range value {
			if v, name, known, ok := s.unknown(item, of); ok {
				return v.in(ofItem(i)), name, known, true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			of := propertySchemas(schemas, name)
			if len(of) == 0 {
				return &Violation{path: []string{ofProperty(name)}}, name, names(schemas), true
			}
			if v, name, known, ok := s.unknown(value[name], of); ok {
				return v.in(ofProperty(name)), name, known, true
			}
		}
	}
	return nil, "", nil, false
}

// names returns the names of all properties that schemas name, in order.
func names(schemas []*openapi3.Schema) []string {
	all := map[string]bool{}
	for _, d := range schemas {
		for name := range d.Properties {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

package schema

import (
	"iter"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Ignored is a property of a value that no schema names.
type Ignored struct {
	Name  string
	Place string // as that of a Violation, from the outermost value on

	object  map[string]any
	schemas []*openapi3.Schema // of the object
}

// Known returns the names that are known beside it, in order.
func (p Ignored) Known() []string {
	names := map[string]bool{}
	for _, d := range p.schemas {
		for name := range d.Properties {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Ignored yields the properties of value that are ignored, by name. Of a value that
// keeps no member of a oneOf or anyOf it yields none, since each may be known.
func (s *Schema) Ignored(value any) iter.Seq[Ignored] {
	return func(yield func(Ignored) bool) {
		s.eachIgnored(value, []*openapi3.Schema{s.document}, nil, yield)
	}
}

// Indirect reports whether the generated type of the schema reads itself by
// encoding/json, which takes "NAME" for the property name. Values for it must
// be pruned first.
func (s *Schema) Indirect() bool { return s.indirect }

// Prune removes the properties from value, which Check allows, that are ignored.
func (s *Schema) Prune(value any) {
	for p := range s.Ignored(value) {
		delete(p.object, p.Name)
	}
}

// eachIgnored is Ignored of a value at a path, and of schemas that it was held against. It
// reports whether yield wants more.
func (s *Schema) eachIgnored(value any, schemas []*openapi3.Schema, path []string, yield func(Ignored) bool) bool {
	schemas = s.applying(nil, schemas, value)
	isOpen := func(d *openapi3.Schema) bool { return isFree(d) || len(members(d)) > 0 && len(s.chosen(d, value)) == 0 }
	if slices.ContainsFunc(schemas, isOpen) {
		return true
	}
	switch value := value.(type) {
	case []any:
		of := itemSchemas(schemas)
		for i, item := range value {
			if !s.eachIgnored(item, of, append(path, ofItem(i)), yield) {
				return false
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := append(path, ofProperty(name))
			var more bool
			if of := propertySchemas(schemas, name); len(of) > 0 {
				more = s.eachIgnored(value[name], of, at, yield)
			} else {
				more = yield(Ignored{name, (&Violation{path: at}).Place(""), value, schemas})
			}
			if !more {
				return false
			}
		}
	}
	return true
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

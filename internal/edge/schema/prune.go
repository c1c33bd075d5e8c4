package schema

import "slices"

// Indirect reports whether the generated type of the schema reads itself by
// encoding/json, which takes "NAME" for the property name. Values for it must
// be pruned first.
func (s *Schema) Indirect() bool { return s.indirect }

// Prune removes the properties from value, which holds, that the schema does
// not name and that are therefore ignored.
func (s *Schema) Prune(value any) { prune(value, []*Schema{s}) }

func prune(value any, schemas []*Schema) {
	schemas = spread(nil, schemas)
	if slices.ContainsFunc(schemas, (*Schema).isFree) {
		return
	}
	switch value := value.(type) {
	case []any:
		var items []*Schema
		for _, s := range schemas {
			if s.items != nil {
				items = append(items, s.items)
			}
		}
		for _, item := range value {
			prune(item, items)
		}
	case map[string]any:
		for name, property := range value {
			if known := propertySchemas(schemas, name); len(known) > 0 {
				prune(property, known)
			} else {
				delete(value, name)
			}
		}
	}
}

// isFree reports whether any value will do, and all of it is kept.
func (s *Schema) isFree() bool { return s.kind == "" && !s.IsComposed() }

// spread adds to list the schemas that may apply to one value.
func spread(list, schemas []*Schema) []*Schema {
	for _, s := range schemas {
		list = append(list, s)
		list = spread(list, s.allOf)
		if s.union != nil {
			list = spread(list, s.union.members)
		}
	}
	return list
}

// propertySchemas returns what schemas say of a property: those that name it,
// or else those that keep properties without a name.
func propertySchemas(schemas []*Schema, name string) (known []*Schema) {
	for _, s := range schemas {
		if p := s.properties[name]; p != nil {
			known = append(known, p)
		}
	}
	if len(known) > 0 {
		return known
	}
	for _, s := range schemas {
		if s.additional != nil {
			known = append(known, s.additional)
		}
	}
	return known
}

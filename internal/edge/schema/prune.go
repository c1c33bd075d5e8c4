package schema

// Indirect reports whether the generated type of the schema reads itself by
// encoding/json, which takes "NAME" for the property name. Values for it must
// be pruned first.
func (s *Schema) Indirect() bool { return s.indirect }

// Prune removes the properties from value, which holds, that the schema does
// not name and that are therefore ignored.
func (s *Schema) Prune(value any) { prune(value, []*Schema{s}) }

func prune(value any, schemas []*Schema) {
	schemas = spread(nil, schemas)
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
			if known, free := propertySchemas(schemas, name); len(known) > 0 {
				prune(property, known)
			} else if !free {
				delete(value, name)
			}
		}
	}
}

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

// propertySchemas returns what schemas say of a property; free where one of
// them leaves the whole value open.
func propertySchemas(schemas []*Schema, name string) (known []*Schema, free bool) {
	for _, s := range schemas {
		if p := s.properties[name]; p != nil {
			known = append(known, p)
		}
	}
	if len(known) > 0 {
		return known, false
	}
	for _, s := range schemas {
		if s.additional != nil {
			known = append(known, s.additional)
		}
		free = free || s.kind == "" && s.union == nil && len(s.allOf) == 0
	}
	return known, free
}

package schema

import (
	"path"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// members returns the schemas of oneOf or anyOf.
func members(s *openapi3.Schema) openapi3.SchemaRefs { return slices.Concat(s.OneOf, s.AnyOf) }

// named returns the member that the discriminator names for value, or nil.
func named(s *openapi3.Schema, value any) *openapi3.Schema {
	object, _ := value.(map[string]any)
	name, _ := object[s.Discriminator.PropertyName].(string)
	for _, member := range members(s) {
		if ref := s.Discriminator.Mapping[name].Ref; ref != "" && component(ref) == member.Ref {
			return member.Value
		}
	}
	return nil
}

// component returns the reference to a schema that a mapping names, which may be
// its name alone.
func component(ref string) string {
	if strings.Contains(ref, "/") {
		return ref
	}
	return "#/components/schemas/" + ref
}

// checkDiscriminator makes sure that each value of the discriminator names a
// member. Where the document has no mapping, the values are the members' own names,
// and are written into one: kin-openapi knows no others.
func checkDiscriminator(s *openapi3.Schema) error {
	d := s.Discriminator
	if d == nil {
		return nil
	}
	if len(d.Mapping) == 0 {
		d.Mapping = map[string]openapi3.MappingRef{}
		for _, member := range members(s) {
			d.Mapping[path.Base(member.Ref)] = openapi3.MappingRef{Ref: member.Ref}
		}
	}
	for name, ref := range d.Mapping {
		isMember := func(member *openapi3.SchemaRef) bool { return member.Ref == component(ref.Ref) }
		if !slices.ContainsFunc(members(s), isMember) {
			return refusal("discriminator", "maps "+name+" to a schema that is none of the members")
		}
	}
	return nil
}

// exactUnion is exact for the members of oneOf or anyOf.
func (s *Schema) exactUnion(d *openapi3.Schema, value any) *Violation {
	switch {
	case len(d.OneOf)+len(d.AnyOf) == 0:
		return nil
	case d.Discriminator != nil:
		member := named(d, value)
		if member == nil { // kin-openapi reads discriminators of objects alone
			return &Violation{Message: "must be an object"}
		}
		return s.exact(member, value)
	case len(s.chosen(d, value)) == 0:
		return &Violation{Message: unionSays(d)}
	}
	return nil
}

// chosen returns the members of oneOf or anyOf that value keeps, or that its
// discriminator names.
func (s *Schema) chosen(d *openapi3.Schema, value any) (chosen []*openapi3.Schema) {
	if d.Discriminator != nil {
		if member := named(d, value); member != nil {
			chosen = append(chosen, member)
		}
		return chosen
	}
	for _, member := range members(d) {
		if s.holds(member.Value, value) {
			chosen = append(chosen, member.Value)
		}
	}
	return chosen
}

// unionSentence is the sentence of the member that the discriminator names, which
// kin-openapi does not tell of anyOf; or else of the union as a whole.
func (s *Schema) unionSentence(d *openapi3.Schema, refused any) *Violation {
	switch {
	case d.Discriminator == nil && refused == nil:
		return &Violation{Message: "must not be null"}
	case d.Discriminator == nil:
		return &Violation{Message: unionSays(d)}
	}
	if member := named(d, refused); member != nil {
		if err := member.VisitJSON(refused, s.options...); err != nil {
			return s.explain(err, refused)
		}
	}
	return &Violation{Message: "must be an object"}
}

func discriminatorSentence(d *openapi3.Schema, refused any) *Violation {
	v := &Violation{Message: discriminatorSays(d)}
	object, _ := refused.(map[string]any)
	if _, ok := object[d.Discriminator.PropertyName]; !ok {
		v.Message = "is required"
	}
	return v.in(ofProperty(d.Discriminator.PropertyName))
}

func unionSays(s *openapi3.Schema) string {
	var names []string
	for _, member := range members(s) {
		if member.Ref != "" {
			names = append(names, path.Base(member.Ref))
		} else {
			names = append(names, member.Value.Type.Slice()...)
		}
	}
	if len(s.OneOf) > 0 {
		return "must be exactly one of " + alternatives(names)
	}
	return "must be at least one of " + alternatives(names)
}

func discriminatorSays(s *openapi3.Schema) string {
	var names []string
	for name := range s.Discriminator.Mapping {
		names = append(names, name)
	}
	return "must be one of " + alternatives(names)
}

// alternatives names the members in a sentence: "a Cat or a Dog" would guess at
// articles.
func alternatives(names []string) string {
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

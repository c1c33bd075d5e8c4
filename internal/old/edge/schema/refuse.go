package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

func refusal(keyword, reason string) error { return fmt.Errorf("%s %s", keyword, reason) }

// compiler goes through a schema and all below it, each once: they may be
// recursive. It refuses a schema that kin-openapi does not judge as OpenAPI 3.0 has
// it, or that the generated code does not keep.
type compiler struct {
	done      map[*openapi3.Schema]bool
	indirect  bool
	readOnly  bool // a property is
	recursive bool // a composed schema contains itself
}

func (c *compiler) ref(ref *openapi3.SchemaRef) error {
	if ref.Ref == "" && len(members(ref.Value)) > 0 {
		return refusal("oneOf or anyOf", "needs a name: move the schema to components")
	}
	s := ref.Value
	if c.done[s] {
		return nil
	}
	c.done[s] = true
	c.readOnly = c.readOnly || s.ReadOnly
	c.indirect = c.indirect || s.Nullable && !IsScalar(s) || HasOthers(s) && len(s.Properties) > 0 || len(members(s)) > 0
	for _, check := range []func(*openapi3.Schema) error{checkKeywords, checkNumbers, checkFormat, checkEnum, checkAllOf, checkUnion} {
		if err := check(s); err != nil {
			return err
		}
	}
	for _, part := range parts(s) {
		if err := c.ref(part.SchemaRef); err != nil {
			return fmt.Errorf("%s: %w", part.place, err)
		}
	}
	return nil
}

// part is a schema within another.
type part struct {
	*openapi3.SchemaRef
	place string
	same  bool // it describes the same value, and not one within it
}

func parts(s *openapi3.Schema) (parts []part) {
	if s.Items != nil {
		parts = append(parts, part{s.Items, "items", false})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		parts = append(parts, part{s.Properties[name], "property " + name, false})
	}
	if s.AdditionalProperties.Schema != nil {
		parts = append(parts, part{s.AdditionalProperties.Schema, "additionalProperties", false})
	}
	for i, member := range s.AllOf {
		parts = append(parts, part{member, fmt.Sprintf("allOf[%d]", i), true})
	}
	for i, member := range members(s) {
		parts = append(parts, part{member, fmt.Sprintf("member %d", i), true})
	}
	return parts
}

// contains reports whether target is within s; with sameValue, whether it describes
// the same value.
func contains(s, target *openapi3.Schema, sameValue bool) bool {
	seen := map[*openapi3.Schema]bool{}
	var search func(*openapi3.Schema) bool
	search = func(s *openapi3.Schema) bool {
		if seen[s] {
			return false
		}
		seen[s] = true
		return slices.ContainsFunc(parts(s), func(p part) bool {
			return (p.same || !sameValue) && (p.Value == target || search(p.Value))
		})
	}
	return search(s)
}

// checkKeywords refuses a keyword that the service does not keep, or not of that type.
func checkKeywords(s *openapi3.Schema) error {
	data, err := s.MarshalJSON()
	if err != nil {
		return err
	}
	var present map[string]any // as the document has them
	if err := json.Unmarshal(data, &present); err != nil {
		return err
	}
	kind := strings.Join(s.Type.Slice(), ", ")
	for _, name := range slices.Sorted(maps.Keys(present)) {
		switch k, ok := keywords[name]; {
		case strings.HasPrefix(name, "x-"):
		case !ok:
			return refusal(name, "is no keyword that the service keeps")
		case k.of != nil && !slices.Contains(k.of, kind):
			return refusal(name, fmt.Sprintf("does not apply to the type %q", kind))
		}
	}
	return nil
}

// checkNumbers refuses numbers that the document has, but kin-openapi, which reads
// them as float64s, has not.
func checkNumbers(s *openapi3.Schema) error {
	if s.MultipleOf != nil && *s.MultipleOf <= 0 {
		return refusal("multipleOf", "must be greater than 0")
	}
	for name, bound := range map[string]*float64{"minimum": s.Min, "maximum": s.Max} {
		if s.Type.Is("integer") && bound != nil && math.Abs(*bound) >= maxExact && math.Abs(*bound) < math.MaxInt64 {
			return refusal(name, "is beyond 2^53, where it cannot be told from its neighbours")
		}
	}
	return nil
}

func checkFormat(s *openapi3.Schema) error {
	kind := strings.Join(s.Type.Slice(), ", ")
	switch {
	case s.Format == "":
	case kind == "string":
		if formats[s.Format] == nil {
			return refusal("format", s.Format+" is none that the service can check")
		}
	case !slices.Contains(numberFormats[kind], s.Format):
		return refusal("format", s.Format+" is none of the type "+kind)
	}
	return nil
}

func checkEnum(s *openapi3.Schema) error {
	for _, v := range s.Enum {
		if f, ok := v.(float64); ok && math.Abs(f) >= maxExact {
			return refusal("enum", "has a number beyond 2^53, which cannot be told from its neighbours")
		}
	}
	if s.Nullable && len(s.Enum) > 0 && !slices.Contains(s.Enum, nil) {
		return refusal("enum", "beside nullable must have null among its values, or it allows none")
	}
	return nil
}

func checkAllOf(s *openapi3.Schema) error {
	if len(s.AllOf) == 0 {
		return nil
	}
	if s.Type != nil && !s.Type.Is("object") || len(s.Enum) > 0 || len(members(s)) > 0 {
		return refusal("allOf", "can stand beside the keywords of objects alone")
	}
	if contains(s, s, true) {
		return refusal("allOf", "contains itself")
	}
	for _, member := range s.AllOf {
		if member.Value.Nullable {
			return refusal("nullable", "of a member of allOf is ignored: it must stand beside allOf")
		}
		if member.Ref != "" && len(members(member.Value)) > 0 && len(s.AllOf) > 1 {
			return refusal("allOf", "with a oneOf or anyOf among other members is more than the service can bind")
		}
	}
	return nil
}

func checkUnion(s *openapi3.Schema) error {
	if len(members(s)) == 0 {
		if s.Discriminator != nil {
			return refusal("discriminator", "needs oneOf or anyOf beside it")
		}
		return nil
	}
	if s.Type != nil && !s.Type.Is("object") || len(s.Properties) > 0 || len(s.Required) > 0 || len(s.Enum) > 0 || len(s.OneOf) > 0 && len(s.AnyOf) > 0 {
		return refusal("oneOf or anyOf", "must stand alone, but for its discriminator")
	}
	if contains(s, s, true) {
		return refusal("oneOf or anyOf", "contains itself")
	}
	for _, member := range members(s) {
		if member.Value.Nullable {
			return refusal("nullable", "of a member of oneOf or anyOf is ignored: it must stand beside them")
		}
	}
	return checkDiscriminator(s)
}

// checkRecursion refuses a union that contains itself if kin-openapi reads its values
// more than once. Each level of a value then doubles the time, and a body may have
// thousands of levels. kin-openapi tries each member unless a discriminator names
// one. It reads the member that it has found a second time in anyOf, and also in
// oneOf where a property is readOnly.
func (c *compiler) checkRecursion() error {
	for s := range c.done {
		if !IsComposed(s) || !contains(s, s, false) {
			continue
		}
		if len(s.AllOf) == 0 && (s.Discriminator == nil || len(s.AnyOf) > 0 || c.readOnly) {
			return refusal("oneOf or anyOf", "contains itself: that takes time without end, unless it is a oneOf with a discriminator and no property is readOnly")
		}
		c.recursive = true
	}
	return nil
}

// maxLevels bounds the nesting of a value whose schema is composed and contains
// itself. The errors of kin-openapi then hold each other, and their size grows with
// the square of the levels.
const maxLevels = 100

// isWithin reports whether value has no more than that many levels.
func isWithin(levels int, value any) bool {
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if levels == 0 || !isWithin(levels-1, item) {
				return false
			}
		}
	case map[string]any:
		for _, property := range value {
			if levels == 0 || !isWithin(levels-1, property) {
				return false
			}
		}
	}
	return true
}

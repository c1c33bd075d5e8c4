package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// Compile makes a schema ready. Its error names the place in the schema and the
// keyword that the service does not start with, and says why.
func Compile(ref *openapi3.SchemaRef) (*Schema, error) {
	c := &compiler{done: map[*openapi3.Schema]*Schema{}}
	s, err := c.ref(ref)
	if err != nil {
		return nil, err
	}
	s.indirect, s.document = c.indirect, ref.Value
	if c.readOnly {
		s.options = []openapi3.SchemaValidationOption{openapi3.VisitAsRequest()}
	}
	s.checkFew()
	return s, nil
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

func refusal(keyword, reason string) error { return fmt.Errorf("%s %s", keyword, reason) }

// compiler compiles one schema with all below it, each once: they may be
// recursive.
type compiler struct {
	done      map[*openapi3.Schema]*Schema
	composing []*openapi3.Schema // by allOf, oneOf and anyOf, around this one, for the same value
	indirect  bool
	readOnly  bool // a property is
}

func (c *compiler) ref(ref *openapi3.SchemaRef) (*Schema, error) {
	if ref.Ref == "" && len(ref.Value.OneOf)+len(ref.Value.AnyOf) > 0 {
		return nil, refusal("oneOf or anyOf", "needs a name: move the schema to components")
	}
	return c.schema(ref.Value, nil)
}

// schema compiles s. unsent are the properties that a request need not have,
// whatever requires them, since an enclosing allOf has them readOnly.
func (c *compiler) schema(s *openapi3.Schema, unsent []string) (*Schema, error) {
	if done := c.done[s]; done != nil {
		return done, nil
	}
	out := &Schema{nullable: s.Nullable, readOnly: s.ReadOnly, wrong: typeSays(s), formatName: s.Format}
	c.done[s] = out
	c.readOnly = c.readOnly || s.ReadOnly
	if types := s.Type.Slice(); len(types) == 1 {
		out.kind = types[0]
	}
	if err := out.readKeywords(s); err != nil {
		return nil, err
	}
	if err := out.readFormat(s); err != nil {
		return nil, err
	}
	if len(s.Enum) > 0 {
		if err := checkEnum(s); err != nil {
			return nil, err
		}
		out.enum = newEnum(s.Enum)
	}
	if s.Nullable && !isScalar(out.kind) {
		c.indirect = true
	}
	outer := c.composing
	defer func() { c.composing = outer }()
	c.composing = append(slices.Clone(outer), s)
	unsent = slices.Concat(unsent, unsentProperties(s))
	for _, step := range []func(*Schema, *openapi3.Schema, []string) error{c.array, c.object, c.allOf, c.union} {
		if err := step(out, s, unsent); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func isScalar(kind string) bool {
	return slices.Contains([]string{"string", "integer", "number", "boolean"}, kind)
}

// present returns the keywords that s has, as the document has them.
func present(s *openapi3.Schema) (map[string]any, error) {
	data, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var keywords map[string]any
	return keywords, json.Unmarshal(data, &keywords)
}

// readKeywords takes the checks of the table, and refuses a keyword that the
// table has not, or has for other types than this.
func (out *Schema) readKeywords(s *openapi3.Schema) error {
	have, err := present(s)
	if err != nil {
		return err
	}
	if s.Pattern != "" {
		if _, err := regexp.Compile(s.Pattern); err != nil {
			return refusal("pattern", "is no regular expression of RE2: "+s.Pattern)
		}
	}
	if s.MultipleOf != nil && *s.MultipleOf <= 0 {
		return refusal("multipleOf", "must be greater than 0")
	}
	for name, bound := range map[string]*float64{"minimum": s.Min, "maximum": s.Max} {
		if out.kind == "integer" && bound != nil && math.Abs(*bound) >= maxExact && math.Abs(*bound) < math.MaxInt64 {
			return refusal(name, "is beyond 2^53, where it cannot be told from its neighbours")
		}
	}
	for _, row := range keywords {
		if _, ok := have[row.name]; !ok {
			continue
		}
		delete(have, row.name)
		if row.refused != "" {
			return refusal(row.name, row.refused)
		}
		if applies := out.take(row, s); !applies {
			return refusal(row.name, fmt.Sprintf("does not apply to the type %q", out.kind))
		}
	}
	for name := range have {
		if len(name) < 2 || name[:2] != "x-" {
			return refusal(name, "is no keyword that the service knows")
		}
	}
	return nil
}

// take adds the check of a row, and reports whether it applies to the type.
func (out *Schema) take(row keyword, s *openapi3.Schema) bool {
	says := ""
	if row.says != nil {
		says = row.says(s)
	}
	switch {
	case row.note:
	case row.built:
		return row.of == nil || slices.Contains(row.of, out.kind)
	case out.kind == "string" && row.text != nil:
		out.texts = append(out.texts, check[string]{row.text(s), says})
	case out.kind == "integer" && row.whole != nil:
		out.wholes = append(out.wholes, check[int64]{row.whole(s), says})
	case out.kind == "number" && row.number != nil:
		out.numbers = append(out.numbers, check[float64]{row.number(s), says})
	case out.kind == "array" && row.array != nil:
		out.arrays = append(out.arrays, check[[]any]{row.array(s), says})
	case out.kind == "object" && row.object != nil:
		out.objects = append(out.objects, check[map[string]any]{row.object(s), says})
	default:
		return false
	}
	return true
}

func (out *Schema) readFormat(s *openapi3.Schema) error {
	switch {
	case s.Format == "":
	case out.kind == "string":
		if out.format = formats[s.Format]; out.format == nil {
			return refusal("format", s.Format+" is none that the service can check")
		}
	case !slices.Contains(numberFormats[out.kind], s.Format):
		return refusal("format", s.Format+" is none of the type "+out.kind)
	case s.Format == "int32":
		out.wholes = append(out.wholes, check[int64]{func(v int64) bool { return int64(int32(v)) == v }, formatSays(s)})
	case s.Format == "float":
		out.numbers = append(out.numbers, check[float64]{func(v float64) bool { return !math.IsInf(float64(float32(v)), 0) }, formatSays(s)})
	}
	return nil
}

// maxExact is the integer below which kin-openapi, which reads the document's
// numbers as float64s, has every one exactly.
const maxExact = 1 << 53

func checkEnum(s *openapi3.Schema) error {
	for _, v := range s.Enum {
		if f, ok := v.(float64); ok && math.Abs(f) >= maxExact {
			return refusal("enum", "has a number beyond 2^53, which cannot be told from its neighbours")
		}
	}
	return nil
}

func (c *compiler) array(out *Schema, s *openapi3.Schema, _ []string) (err error) {
	if out.kind != "array" {
		return nil
	}
	c.composing = nil
	if out.items, err = c.ref(s.Items); err != nil {
		return fmt.Errorf("items: %w", err)
	}
	return nil
}

func isClosed(s *openapi3.Schema) bool {
	return s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has
}

func (c *compiler) object(out *Schema, s *openapi3.Schema, unsent []string) error {
	if out.kind != "object" {
		return nil
	}
	composing := c.composing
	defer func() { c.composing = composing }()
	c.composing = nil
	out.properties = map[string]*Schema{}
	for name, ref := range s.Properties {
		property, err := c.ref(ref)
		if err != nil {
			return fmt.Errorf("property %s: %w", name, err)
		}
		out.properties[name] = property
		out.names = append(out.names, name)
	}
	slices.Sort(out.names)
	for _, name := range s.Required {
		if !slices.Contains(unsent, name) {
			out.required = append(out.required, name)
		}
	}
	out.closed = isClosed(s)
	has := s.AdditionalProperties.Has
	switch ref := s.AdditionalProperties.Schema; {
	case ref != nil:
		additional, err := c.ref(ref)
		if err != nil {
			return fmt.Errorf("additionalProperties: %w", err)
		}
		out.additional = additional
	case has != nil && *has, has == nil && len(s.Properties) == 0:
		out.additional = &Schema{nullable: true}
	}
	c.indirect = c.indirect || out.additional != nil && len(s.Properties) > 0
	return nil
}

// unsentProperties returns the readOnly properties of s and of its allOf. seen
// ends the walk where a schema contains itself, which allOf refuses.
func unsentProperties(s *openapi3.Schema, seen ...*openapi3.Schema) (names []string) {
	if slices.Contains(seen, s) {
		return nil
	}
	for name, ref := range s.Properties {
		if ref.Value.ReadOnly {
			names = append(names, name)
		}
	}
	for _, member := range s.AllOf {
		names = append(names, unsentProperties(member.Value, append(seen, s)...)...)
	}
	return names
}

func (c *compiler) allOf(out *Schema, s *openapi3.Schema, unsent []string) error {
	if len(s.AllOf) == 0 {
		return nil
	}
	if out.kind != "" && out.kind != "object" || len(s.Enum) > 0 || len(s.OneOf)+len(s.AnyOf) > 0 {
		return refusal("allOf", "can stand beside the keywords of objects alone")
	}
	for i, ref := range s.AllOf {
		if slices.Contains(c.composing, ref.Value) {
			return refusal("allOf", "contains itself")
		}
		if ref.Value.Nullable {
			return refusal("nullable", "of a member of allOf is ignored: it must stand beside allOf")
		}
		if len(ref.Value.OneOf)+len(ref.Value.AnyOf) > 0 && len(s.AllOf) > 1 {
			return refusal("allOf", "with a oneOf or anyOf among other members is more than the service can bind")
		}
		member, err := c.member(ref, unsent)
		if err != nil {
			return fmt.Errorf("allOf[%d]: %w", i, err)
		}
		out.allOf = append(out.allOf, member)
	}
	return nil
}

// member compiles a member of allOf, which depends on its siblings and so is
// made anew for each allOf.
func (c *compiler) member(ref *openapi3.SchemaRef, unsent []string) (*Schema, error) {
	if ref.Ref == "" && len(ref.Value.OneOf)+len(ref.Value.AnyOf) > 0 {
		return c.ref(ref) // which refuses it
	}
	done, again := c.done[ref.Value]
	delete(c.done, ref.Value)
	member, err := c.schema(ref.Value, unsent)
	if delete(c.done, ref.Value); again {
		c.done[ref.Value] = done
	}
	return member, err
}

func (c *compiler) union(out *Schema, s *openapi3.Schema, _ []string) error {
	members := slices.Concat(s.OneOf, s.AnyOf)
	if len(members) == 0 {
		if s.Discriminator != nil {
			return refusal("discriminator", "needs oneOf or anyOf beside it")
		}
		return nil
	}
	if out.kind != "" && out.kind != "object" || len(s.Properties) > 0 || len(s.Required) > 0 || len(s.Enum) > 0 || len(s.OneOf) > 0 && len(s.AnyOf) > 0 {
		return refusal("oneOf or anyOf", "must stand alone, but for its discriminator")
	}
	out.kind = ""
	u := &union{exactly: len(s.OneOf) > 0, says: unionSays(s)}
	byRef := map[string]*Schema{}
	for i, ref := range members {
		if ref.Value.Nullable {
			return refusal("nullable", "of a member of oneOf or anyOf is ignored: it must stand beside them")
		}
		if slices.Contains(c.composing, ref.Value) {
			return refusal("oneOf or anyOf", "contains itself")
		}
		member, err := c.ref(ref)
		if err != nil {
			return fmt.Errorf("member %d: %w", i, err)
		}
		u.members = append(u.members, member)
		byRef[ref.Ref] = member
	}
	if s.Discriminator != nil {
		u.property, u.valueSays, u.byValue = s.Discriminator.PropertyName, discriminatorSays(s), map[string]*Schema{}
		for name, ref := range discriminatorNames(s) {
			if u.byValue[name] = byRef[ref]; u.byValue[name] == nil {
				return refusal("discriminator", "maps "+name+" to a schema that is none of the members")
			}
		}
	}
	out.union, out.wrong = u, u.says
	c.indirect = true
	return nil
}

// discriminatorNames returns the schema that each value of the discriminator
// names: those of the mapping, or the members' own names.
func discriminatorNames(s *openapi3.Schema) map[string]string {
	names := map[string]string{}
	for name, mapped := range s.Discriminator.Mapping {
		ref := mapped.Ref
		if path.Base(ref) == ref {
			ref = "#/components/schemas/" + ref
		}
		names[name] = ref
	}
	if len(names) == 0 {
		for _, ref := range slices.Concat(s.OneOf, s.AnyOf) {
			names[path.Base(ref.Ref)] = ref.Ref
		}
	}
	return names
}

func memberNames(members openapi3.SchemaRefs) []string {
	var names []string
	for _, ref := range members {
		name := ref.Value.Type.Slice()
		if ref.Ref != "" {
			name = []string{path.Base(ref.Ref)}
		}
		names = append(names, name...)
	}
	return names
}

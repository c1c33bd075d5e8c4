package property

import (
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Invalid returns JSON values that are not valid for s, most of them nearly so.
func Invalid(s *openapi3.Schema) (all []string) {
	if len(s.AllOf) == 1 {
		s = s.AllOf[0].Value
	}
	candidates := []string{
		`null`, `true`, `"lost"`, `[]`, `{}`, `5`, `-1`, `0`, `7.5`, `1e300`, `""`, `"a\u0000b"`,
		`"2026-02-30"`, `"2026-02-30T00:00:00Z"`, Encode(strings.Repeat("x", 10_000)),
	}
	switch {
	case s.Type.Is("integer"):
		all = []string{`7.0`, `1e2`, `9223372036854775808`} // kin-openapi compares numbers as float64s
		if s.Max != nil {
			candidates = append(candidates, fmt.Sprintf("%.0f", *s.Max+1))
		}
	case s.Format == "uuid": // which kin-openapi leaves to others
		all = []string{`"lost"`}
	case s.Type.Is("array"):
		for _, item := range Invalid(s.Items.Value) {
			all = append(all, "["+item+"]")
		}
		if s.MaxItems != nil {
			item := Encode(Value(s.Items.Value).Example(1))
			candidates = append(candidates, "["+strings.Repeat(item+",", int(*s.MaxItems))+item+"]")
		}
	}
	for _, text := range candidates {
		if s.VisitJSON(Decode(text)) != nil {
			all = append(all, text)
		}
	}
	return all
}

// InvalidText returns texts of a parameter that are not valid for s.
func InvalidText(s *openapi3.Schema) []string {
	s = Item(s)
	if s.Type.Is("integer") {
		all := []string{"", "ten", "+5", "05", "5.0", "1e1", "1/2", "５", "9223372036854775808"}
		for limit, beyond := range map[*float64]float64{s.Min: -1, s.Max: 1} {
			if limit != nil {
				all = append(all, fmt.Sprintf("%.0f", *limit+beyond))
			}
		}
		return all
	}
	isValid := func(text string) bool { return s.Format != "uuid" && s.VisitJSON(text) == nil }
	return slices.DeleteFunc([]string{"", "lost", "a\x00b", "1/2"}, isValid)
}

// Unknown returns texts of valid identifiers that no resource has.
func Unknown(s *openapi3.Schema) []string {
	if s.Type.Is("integer") {
		return []string{"0", "-1", "9223372036854775807"}
	}
	return []string{Text(Value(s).Example(1)), Text(Value(s).Example(2))}
}

// Accepts reports whether a parameter takes a text that is not empty.
func Accepts(s *openapi3.Schema, text string) bool {
	if s = Item(s); s.Type.Is("string") {
		return text != "" && s.VisitJSON(text) == nil
	}
	v := Decode(text)
	return v != nil && s.VisitJSON(v) == nil
}

// Item returns the schema of each value of a parameter: of the items if s is a list.
func Item(s *openapi3.Schema) *openapi3.Schema {
	if s.Type.Is("array") {
		return s.Items.Value
	}
	return s
}

// Text returns a value as a parameter has it.
func Text(v any) string {
	if f, ok := v.(float64); ok {
		return Encode(f)
	}
	return fmt.Sprint(v)
}

// Texts returns the texts of the values in a list, or of a single one, which may be nil.
func Texts(v any) (all []string) {
	list, isList := v.([]any)
	if !isList && v != nil {
		list = []any{v}
	}
	for _, v := range list {
		all = append(all, Text(v))
	}
	return all
}

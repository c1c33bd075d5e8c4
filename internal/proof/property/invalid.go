package property

import (
	"encoding/json"
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
	candidates := []string{`null`, `true`, `"lost"`, `[]`, `{}`, `5`}
	switch {
	case s.Type.Is("integer"):
		all = []string{`7.0`, `1e2`, `9223372036854775808`} // kin-openapi compares numbers as float64s
		candidates = append(candidates, `-1`, `0`, `7.5`)
		if s.Max != nil {
			candidates = append(candidates, fmt.Sprintf("%.0f", *s.Max+1))
		}
	case s.Type.Is("number"):
		candidates = append(candidates, `-1e300`, `1e300`)
	case s.Format == "date" || s.Format == "date-time":
		all = []string{`"2026-02-30"`, `"2026-02-30T00:00:00Z"`}
	case s.Format == "uuid":
		all = []string{`"lost"`}
	case s.Type.Is("string"):
		candidates = append(candidates, `""`, `"a\u0000b"`, Encode(strings.Repeat("x", 10_000)))
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
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			panic(err)
		}
		if s.VisitJSON(v) != nil && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// InvalidText returns texts of a parameter that are not valid for s.
func InvalidText(s *openapi3.Schema) (all []string) {
	if s.Type.Is("array") {
		s = s.Items.Value
	}
	candidates := []string{"", "lost", "a\x00b", "1/2"}
	switch {
	case s.Type.Is("integer"):
		all = []string{"", "ten", "+5", "05", "5.0", "1e1", "1/2", "５", "9223372036854775808"}
		for limit, beyond := range map[*float64]float64{s.Min: -1, s.Max: 1} {
			if limit != nil {
				all = append(all, fmt.Sprintf("%.0f", *limit+beyond))
			}
		}
		return all
	case s.Type.Is("boolean") || s.Type.Is("number"), s.Format == "uuid", s.Format == "date", s.Format == "date-time":
		return candidates
	}
	return slices.DeleteFunc(candidates, func(text string) bool { return s.VisitJSON(text) == nil })
}

// Unknown returns texts of valid identifiers that no resource has.
func Unknown(s *openapi3.Schema) []string {
	if s.Type.Is("integer") {
		return []string{"0", "-1", "9223372036854775807"}
	}
	return []string{Text(Value(s).Example(1)), Text(Value(s).Example(2))}
}

// Text returns a value as a parameter has it.
func Text(v any) string {
	if f, ok := v.(float64); ok {
		return Encode(f)
	}
	return fmt.Sprint(v)
}

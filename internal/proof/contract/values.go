package contract

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// odd holds characters that a database, driver or encoding may change.
const odd = " 0Aß\u0301🐕👩🏽‍🚀ש\u202e\u2028\r\n\t\x01\x7f\ufeff\"'`\\,;=%&<?$:{\ufffd\U0010ffff "

// uuids are the candidates that have the format uuid, which kin-openapi leaves to others.
var uuids = []string{`"5b0f3c1e-8e0d-4c53-9a77-0d6a2f0d9b11"`, `"c2d29867-3d0b-4497-9191-18a9d8ee7830"`}

// candidates are JSON values of all types, zero values last. A schema has more; see values.
var candidates = slices.Concat([]string{
	`"lost"`, `"a\u0000b"`, `"+5"`, `"05"`, `"５"`, `"1/2"`, encode(odd), `"2026-02-28"`, `"1970-01-01"`, `"2026-02-30"`,
	`"2026-02-28T00:00:00Z"`, `"1970-01-01T23:59:59Z"`, `"2026-02-30T00:00:00Z"`,
	`5`, `1`, `-1`, `7.5`, `7.0`, `1e2`, `1e300`, `2147483647`, `-2147483648`, `2147483648`, `9007199254740993`,
	`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `true`, `false`,
	`""`, `0`, `[]`, `{}`, `null`,
}, uuids)

// values returns JSON values that are valid for s, and others that are not, most of them
// nearly so.
func values(s *openapi3.Schema) (good, bad []string) {
	if len(s.AllOf) == 1 { // a reference with a description of its own
		return values(s.AllOf[0].Value)
	}
	all := slices.Clone(candidates)
	for _, v := range s.Enum {
		all = append(all, encode(v))
	}
	for _, limit := range []*float64{s.Min, s.Max} {
		if limit != nil {
			all = append(all, encode(*limit-1), encode(*limit), encode(*limit+1))
		}
	}
	switch {
	case s.Type.Is("string") && s.Enum == nil:
		for n := max(1, int(s.MinLength)) - 1; n <= int(s.MinLength)+1; n++ {
			all = append(all, encode(strings.Repeat("é", n)))
		}
		if most := s.MaxLength; most != nil && *most < 10_000 { // else the body might be too large
			all = append(all, encode(strings.Repeat("é", int(*most))), encode(strings.Repeat("x", int(*most)+1)))
		}
		for i := range 10 {
			all = append(all, encode(rapid.String().Example(i)), encode(rapid.StringMatching(s.Pattern).Example(i)))
		}
	case s.Type.Is("array"): // it needs maxItems, because only its texts count in the memory of a response
		items, badItems := values(s.Items.Value)
		for _, item := range badItems {
			bad = append(bad, "["+item+"]")
		}
		for _, item := range items {
			all = append(all, "["+item+"]")
		}
		for _, n := range []int{2, int(*s.MaxItems), int(*s.MaxItems) + 1, int(s.MinItems)} {
			all = append(all, "["+strings.Join(slices.Repeat(items[:min(2, len(items))], n)[:n], ",")+"]")
		}
	case s.Type.Is("object"):
		good, bad = objects(s)
	}
	for _, text := range all {
		if v, isNumber := decode(text).(json.Number); isNumber && s.Type.Is("number") { // as Go writes it
			f, _ := v.Float64()
			text = encode(f)
		}
		if !isValid(s, text) {
			bad = append(bad, text)
		} else if !slices.Contains(good, text) {
			good = append(good, text)
		}
	}
	return good, bad
}

// objects returns objects in which one property has each of its values, or is missing, and
// the others have a valid one; and one that has only what is required.
func objects(s *openapi3.Schema) (good, bad []string) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		object := sample(s, 0)
		with := func(values []string) (all []string) {
			for _, v := range values {
				object[name] = json.RawMessage(v)
				all = append(all, encode(object))
			}
			return all
		}
		goodValues, badValues := values(s.Properties[name].Value)
		good, bad = append(good, with(goodValues)...), append(bad, with(badValues)...)
		if delete(object, name); slices.Contains(s.Required, name) {
			bad = append(bad, encode(object))
		} else {
			good = append(good, encode(object))
		}
	}
	return append(good, encode(least(s, 1))), bad
}

// sample returns an object with all properties.
func sample(s *openapi3.Schema, seed int) resource {
	object := resource{}
	for name, p := range s.Properties {
		object[name] = another(p.Value, nil, seed)
	}
	return object
}

// least returns an object with only the properties that are required.
func least(s *openapi3.Schema, seed int) resource {
	object := sample(s, seed)
	maps.DeleteFunc(object, func(name string, _ any) bool { return !slices.Contains(s.Required, name) })
	return object
}

// another returns a valid value other than v and null, if there is one.
func another(s *openapi3.Schema, v any, seed int) any {
	good, _ := values(s)
	for i := range good {
		other := decode(good[(seed+i)%len(good)])
		if other != nil && encode(other) != encode(v) {
			return other
		}
	}
	return v
}

// isValid reports whether a JSON value is valid for s. An integer is an int64 or int32,
// written in digits. The service returns other numbers as Go writes them.
func isValid(s *openapi3.Schema, text string) bool {
	v := decode(text)
	if _, isNumber := v.(json.Number); isNumber && s.Type.Is("integer") {
		bits := 64
		if s.Format == "int32" {
			bits = 32
		}
		n, err := strconv.ParseInt(text, 10, bits)
		return err == nil && encode(n) == text && s.VisitJSON(v) == nil
	}
	if s.Format == "uuid" && v != nil {
		return slices.Contains(uuids, text)
	}
	return s.VisitJSON(v) == nil
}

// single returns the schema of each value of a parameter: of the items if s is a list.
func single(s *openapi3.Schema) *openapi3.Schema {
	if s.Type.Is("array") {
		return s.Items.Value
	}
	return s
}

// accepts reports whether a text is valid for a parameter.
func accepts(s *openapi3.Schema, text string) bool {
	if s = single(s); s.Type.Is("string") {
		return isValid(s, encode(text))
	}
	return decode(text) != nil && isValid(s, text)
}

// invalidTexts returns texts that are not valid for a parameter.
func invalidTexts(s *openapi3.Schema) (all []string) {
	good, bad := values(single(s))
	for _, v := range append(good, bad...) {
		if text := textOf(decode(v)); !accepts(s, text) && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// unknownTexts returns texts of valid identifiers that no resource has.
func unknownTexts(s *openapi3.Schema) []string {
	if s.Type.Is("integer") {
		return []string{"0", "-1", "9223372036854775807"}
	}
	return textsOf([]any{another(s, nil, 0), another(s, nil, 1)})
}

// textOf returns a value as a parameter has it.
func textOf(v any) string {
	if text, isString := v.(string); isString {
		return text
	}
	return encode(v)
}

// textsOf returns the texts of the values in a list, or of a single one, which may be nil.
func textsOf(v any) (all []string) {
	list, isList := v.([]any)
	if !isList && v != nil {
		list = []any{v}
	}
	for _, v := range list {
		all = append(all, textOf(v))
	}
	return all
}

// encode returns v as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of the document can be encoded
	}
	return string(text)
}

// decode decodes JSON and keeps numbers as written. It returns nil if text is no JSON.
func decode(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return v
}

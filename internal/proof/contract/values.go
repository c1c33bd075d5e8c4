package contract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// odd holds characters that a database, driver or encoding may change.
const odd = " 0Aß\u0301🐕👩🏽‍🚀ש\u202e\u2028\r\n\t\x01\x7f\ufeff\"'`\\,;=%&<?$:{\ufffd\U0010ffff "

// candidates are JSON values of all types.
var candidates = []string{
	`"lost"`, `"+5"`, `"05"`, `"５"`, `"1/2"`, `"T"`, encode(odd), `"a\u0000b"`, `""`,
	`5`, `1`, `0`, `-1`, `7.5`, `7.0`, `1e2`, `1e300`, `2147483647`, `-2147483648`, `2147483648`, `9007199254740993`,
	`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `true`, `false`, `[]`, `{}`, `null`,
}

// values returns JSON values that are valid for a schema, and others that are not. Of a
// schema with a format for text, and of one that is no text and no integer, it knows only
// the example, and values of other types.
func values(s *openapi3.Schema) (good, bad []string) {
	all := slices.Clone(candidates)
	for _, v := range s.Enum {
		all = append(all, encode(v))
		if text, isText := v.(string); isText {
			all = append(all, encode(strings.ToUpper(text)), encode(text+" "))
		}
	}
	for _, limit := range []*float64{s.Min, s.Max} {
		if limit != nil {
			all = append(all, encode(*limit-1), encode(*limit), encode(*limit+1))
		}
	}
	known := s.Type.Is("string") && s.Format == "" || s.Type.Is("integer")
	for _, text := range all {
		if !isValid(s, text) {
			bad = append(bad, text)
		} else if known && text != "null" {
			good = append(good, text)
		}
	}
	if len(good) == 0 && s.Example != nil {
		good = []string{encode(s.Example)}
	}
	return good, bad
}

// isValid reports whether a JSON value is valid for s. An integer is an int64 or int32,
// written in digits.
func isValid(s *openapi3.Schema, text string) bool {
	v := decode(text)
	if number, isNumber := v.(json.Number); isNumber && s.Type.Is("integer") {
		bits := 64
		if s.Format == "int32" {
			bits = 32
		}
		if _, err := strconv.ParseInt(number.String(), 10, bits); err != nil {
			return false
		}
	}
	return s.VisitJSON(v) == nil
}

// invalidTexts returns texts that are not valid for a parameter; none if it may be given
// as a list or an object.
func invalidTexts(s *openapi3.Schema) (all []string) {
	for _, v := range slices.Concat(values(s)) {
		text, isText := decode(v).(string)
		if !isText {
			text = v
		}
		valid := s.Type.Is("array") || s.Type.Is("object") || s.Type.Is("string") && isValid(s, encode(text))
		if !s.Type.Is("string") {
			valid = valid || decode(text) != nil && isValid(s, text)
		}
		if !valid && !slices.Contains(all, text) {
			all = append(all, text)
		}
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

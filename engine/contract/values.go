package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// bodyValue returns the value of a body: a text, unless it is JSON.
func bodyValue(header http.Header, body string) any {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if jsonTypes.MatchString(media) {
		return Decode(body)
	}
	return body
}

// plain returns a JSON value such that equal times and equal numbers are equal.
func plain(v any) any {
	if number, _ := v.(json.Number); strings.ContainsAny(number.String(), ".eE") {
		f, _ := number.Float64()
		return json.Number(Encode(f))
	}
	if at := instant(v); !at.IsZero() {
		return at.UTC()
	}
	return v
}

// instant returns the time that a JSON value is, or else zero.
func instant(v any) time.Time {
	text, _ := v.(string)
	at, _ := time.Parse(time.RFC3339, text)
	return at
}

// each visits a JSON value and those within.
func each(place string, v any, visit func(place string, v any)) {
	visit(place, v)
	switch v := v.(type) {
	case object:
		for name, inner := range v {
			each(place+"."+name, inner, visit)
		}
	case []any:
		for _, inner := range v {
			each(place+"[]", inner, visit)
		}
	}
}

// schemas are the schemas of a value and of those within, by place: several, if they are combined as with allOf.
type schemas map[string][]*openapi3.Schema

// add adds a schema and those within it, unless it is within itself.
func (all schemas) add(place string, s *openapi3.Schema, around ...*openapi3.Schema) {
	if slices.Contains(around, s) {
		return
	}
	all[place] = append(all[place], s)
	around = append(slices.Clone(around), s)
	for _, part := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
		all.add(place, part.Value, around...)
	}
	for name, p := range s.Properties {
		all.add(place+"."+name, p.Value, around...)
	}
	if s.Items != nil {
		all.add(place+"[]", s.Items.Value, around...)
	}
}

// isScalar reports whether the values of a place are neither objects nor lists.
func (all schemas) isScalar(place string) bool {
	return all[place] != nil && !all[place][0].Type.Permits("object") && !all[place][0].Type.Permits("array")
}

// compare reports the values that want and got have otherwise: those of want that the document has,
// and all of an object with properties of any name. A missing value is null.
func (all schemas) compare(place string, want, got any, report func(place string, want, got any)) {
	isMap := slices.ContainsFunc(all[place], func(s *openapi3.Schema) bool { return s.AdditionalProperties.Schema != nil })
	wantObject, isObject := want.(object)
	gotObject, isToo := got.(object)
	wantList, _ := want.([]any)
	gotList, _ := got.([]any)
	switch {
	case isObject && isToo:
		names := maps.Clone(wantObject)
		if isMap {
			maps.Copy(names, gotObject)
		}
		for name := range names {
			inner := place + "." + name
			if isMap {
				inner = place
			}
			if all[inner] != nil {
				all.compare(inner, wantObject[name], gotObject[name], report)
			}
		}
	case len(wantList) > 0 && len(wantList) == len(gotList):
		for i, v := range wantList {
			all.compare(place+"[]", v, gotList[i], report)
		}
	case !reflect.DeepEqual(plain(want), plain(got)):
		report(place, want, got)
	}
}

// schemasOf returns the schemas of a body.
func schemasOf(content openapi3.Content) schemas {
	all := schemas{}
	for _, media := range content {
		if media.Schema != nil {
			all.add("", media.Schema.Value)
		}
	}
	return all
}

// Encode returns v as JSON.
func Encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of the document can be encoded
	}
	return string(text)
}

// Decode decodes JSON and keeps numbers as written. It returns nil if text is no JSON.
func Decode(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return v
}

// odd holds characters that a database, driver or encoding may change.
const odd = " 0Ae\u0301éﬁß🐕👩🏽‍🚀ש\u202e\u2028\r\n\t\x01\x7f\ufeff\"'`\\,;=%&<?$:{\ufffd\U0010ffff "

// Long is an odd text that is longer than what databases keep beside other values.
var Long = strings.Repeat(odd, 100)

// candidates are JSON values of all types.
var candidates = []string{
	`"lost"`, `"LOST"`, `"+5"`, `"05"`, `"５"`, `"1/2"`, `"T"`, Encode(odd), `"a\u0000b"`, `""`,
	`5`, `1`, `0`, `-1`, `7.5`, `0.29`, `1.15`, `4.35`, `7.0`, `1e2`, `1e300`, `2147483647`, `-2147483648`, `2147483648`,
	`9007199254740993`, `9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `true`, `false`, `[]`, `{}`,
	`null`, `"2026-11-21T10:00:00.123456-23:30"`, Encode(Long),
}

// valuesOf returns JSON values that are valid for a schema, and others that are not. If it does not know the
// kind of schema, the example is the only valid one. It leaves out schemas around s that are within it again.
func valuesOf(s *openapi3.Schema, around ...*openapi3.Schema) (good, bad []string) {
	all := slices.Clone(candidates)
	for _, v := range s.Enum {
		all = append(all, Encode(v))
		if text, isText := v.(string); isText {
			all = append(all, Encode(strings.ToUpper(text)), Encode(text+" "))
		}
	}
	last, next := limits(s)
	all = slices.Concat(all, last, next)
	known := s.Type.Is("integer") || s.Type.Is("array") || s.Type.Is("number") && s.Max != nil ||
		s.Type.Is("string") && (s.Format == "" || s.Format == "date-time")
	for _, text := range all {
		if !isValid(s, text) {
			bad = append(bad, text)
		} else if known {
			good = append(good, text)
		}
	}
	if len(good) == 0 && s.Example != nil {
		good = []string{Encode(s.Example)}
	}
	around = append(slices.Clone(around), s)
	within := func(p *openapi3.SchemaRef, whole func(v string) string) {
		if p == nil || slices.Contains(around, p.Value) {
			return
		}
		goodPart, badPart := valuesOf(p.Value, around...)
		for _, v := range goodPart {
			if isValid(s, whole(v)) {
				good = append(good, whole(v))
			}
		}
		for _, v := range badPart {
			bad = append(bad, whole(v))
		}
	}
	within(s.Items, func(v string) string { return "[" + v + "]" })
	within(s.AdditionalProperties.Schema, func(v string) string { return `{"x":` + v + "}" })
	for name, p := range s.Properties {
		within(p, func(v string) string { return BodyOf(s, Encode(name)+":"+v) })
	}
	return good, bad
}

const longestText = 64 << 10 // no body that the edge accepts by default has one

// limits returns the last JSON value within each limit, and the next, unless no request can have that.
func limits(s *openapi3.Schema) (last, next []string) {
	keywords, _ := Decode(Encode(s)).(object)
	for size, of := range map[string]func(n float64) any{
		"imum":   func(n float64) any { return n },
		"Length": func(n float64) any { return strings.Repeat("x", int(n)) },
		"Items":  func(n float64) any { return slices.Repeat([]any{exampleOf(s.Items.Value)}, int(n)) },
		"Properties": func(n float64) any {
			entries := object{}
			for i := range int(n) {
				entries[fmt.Sprint("x", i)] = exampleOf(cmp.Or(s.AdditionalProperties.Schema, s.NewRef()).Value)
			}
			return entries
		},
	} {
		for bound, step := range map[string]float64{"min": -1, "max": 1} {
			limit, err := strconv.ParseFloat(fmt.Sprint(keywords[bound+size]), 64)
			if err != nil || limit+step == limit || size == "Length" && limit >= longestText {
				continue
			}
			if keywords["exclusiveM"+bound[1:]+size] == true {
				limit -= step
			}
			last, next = append(last, Encode(of(limit))), append(next, Encode(of(limit+step)))
		}
	}
	return last, next
}

// isValid reports whether a JSON value is valid for s. An integer is an int64 or int32, written in digits.
func isValid(s *openapi3.Schema, text string) bool {
	v := Decode(text)
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

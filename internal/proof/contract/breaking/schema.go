package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// direction is the way of a value. Restrictions on requests may only be relaxed, and
// restrictions on responses only be tightened.
type direction string

const (
	request  direction = "request"
	response direction = "response"
	header   direction = "header" // of a response
)

var (
	// bounds are promises about responses. oasdiff reports a bound that is relaxed,
	// but none that is gone, and none at all of a header.
	bounds = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "multipleOf", "minProperties", "maxProperties"}
	// refusals are restrictions on requests that oasdiff does not report where they
	// are new.
	refusals = []string{"multipleOf", "uniqueItems", "not"}
)

// schema compares two schemas of one place and their parts. seen has the names of
// the schemas around them.
func (f *findings) schema(where string, before, after *openapi3.SchemaRef, d direction, seen []string) {
	if before == nil || after == nil || slices.Contains(seen, before.Ref) {
		return
	}
	if name := typeName(before); name != "" {
		if typeName(after) != name {
			f.add("%s: its type is no longer %s, after which generated code is named", where, name)
			return
		}
		where, seen = string(d)+", "+name, append(slices.Clone(seen), before.Ref)
	}
	b, a := keywords(before.Value), keywords(after.Value)
	for _, k := range bounds {
		if b[k] != nil && (d == response && a[k] == nil || d == header && !same(b[k], a[k])) {
			f.add("%s: the %s of a response is gone or another", where, k)
		}
	}
	for _, k := range refusals {
		if d == request && a[k] != nil && !same(b[k], a[k]) {
			f.add("%s: %s restricts requests", where, k)
		}
	}
	if d == request && a["additionalProperties"] != nil && !same(b["additionalProperties"], a["additionalProperties"]) && !same(true, a["additionalProperties"]) {
		f.add("%s: additionalProperties restricts requests", where)
	}
	for name, p := range before.Value.Properties {
		f.schema(where+", "+name, p, after.Value.Properties[name], d, seen)
	}
	f.schema(where+", items", before.Value.Items, after.Value.Items, d, seen)
}

// typeName returns the name of the schema that s refers to, or nothing.
func typeName(s *openapi3.SchemaRef) string {
	return strings.TrimPrefix(s.Ref, "#/components/schemas/")
}

// keywords returns the keywords of s that are set.
func keywords(s *openapi3.Schema) map[string]any {
	var k map[string]any
	if data, err := s.MarshalJSON(); err == nil {
		_ = json.Unmarshal(data, &k) // it was JSON a line ago
	}
	return k
}

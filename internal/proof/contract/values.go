package contract

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// bodyValue returns the value of a body: a text, unless it is JSON.
func bodyValue(header http.Header, body string) any {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if jsonTypes.MatchString(media) {
		return decode(body)
	}
	return body
}

// fields are JSON values by place, such as .owner.name. Those of the items of a list are joined.
type fields map[string]string

// add adds a value as a text that is the same for equal times and equal numbers: "" for null, as
// for a missing value, and "{}" for an object or a list.
func (f fields) add(place string, v any) {
	number, _ := v.(json.Number)
	switch at := instant(v); {
	case !at.IsZero():
		v = at.UTC()
	case strings.ContainsAny(number.String(), ".eE"):
		v, _ = number.Float64()
	}
	switch v.(type) {
	case nil:
		f[place] += ""
	case object, []any:
		f[place] += "{}"
	default:
		f[place] += encode(v)
	}
}

// content returns a value and those within as one text, without null.
func content(v any) string {
	all := fields{}
	each("", v, func(place string, v any) {
		if v != nil {
			all.add(place, v)
		}
	})
	return fmt.Sprint(all)
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

// schemas are the schemas of a value and of those within, by place. A place has several if they
// are combined, as with allOf.
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

// isMap reports whether an object there has properties of any name.
func (all schemas) isMap(place string) bool {
	return slices.ContainsFunc(all[place], func(s *openapi3.Schema) bool { return s.AdditionalProperties.Schema != nil })
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

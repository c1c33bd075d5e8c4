package contract

import (
	"encoding/json"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
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

// compare reports the values that want and got have otherwise: those of want that the document has,
// and all of an object with properties of any name. A missing value is null.
func (all schemas) compare(place string, want, got any, report func(place string, want, got any)) {
	isMap := func(s *openapi3.Schema) bool { return s.AdditionalProperties.Schema != nil }
	wantObject, isObject := want.(object)
	gotObject, isToo := got.(object)
	wantList, _ := want.([]any)
	gotList, _ := got.([]any)
	switch {
	case isObject && isToo && slices.ContainsFunc(all[place], isMap):
		names := maps.Clone(wantObject)
		maps.Copy(names, gotObject)
		for name := range names {
			all.compare(place, wantObject[name], gotObject[name], report)
		}
	case isObject && isToo:
		for name, v := range wantObject {
			if inner := place + "." + name; all[inner] != nil {
				all.compare(inner, v, gotObject[name], report)
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

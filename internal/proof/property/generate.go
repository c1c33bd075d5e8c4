// Package property makes random values from the document. A new property needs no
// change here.
package property

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// Object returns a generator of valid objects. Optional properties may be missing.
func Object(s *openapi3.Schema) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		o := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) || rapid.Bool().Draw(t, "with "+name) {
				o[name] = Value(s.Properties[name].Value).Draw(t, name)
			}
		}
		return o
	})
}

// Value returns a generator of values that are valid for s. Integers are int64s.
func Value(s *openapi3.Schema) *rapid.Generator[any] {
	all := rapid.Custom(func(t *rapid.T) any { return value(t, s) })
	return all.Filter(func(v any) bool { return v == nil || s.VisitJSON(v) == nil })
}

// Another returns a valid value other than v and null.
func Another(s *openapi3.Schema, v any, seed int) any {
	differs := func(other any) bool { return other != nil && Encode(other) != Encode(v) }
	return Value(s).Filter(differs).Example(seed)
}

func value(t *rapid.T, s *openapi3.Schema) any {
	switch {
	case s.Nullable && rapid.IntRange(0, 3).Draw(t, "null") == 0:
		return nil
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(t, "enum")
	case len(s.AllOf) == 1: // a reference with a description of its own
		return value(t, s.AllOf[0].Value)
	case s.Type.Is("string"):
		return text(s).Draw(t, "text")
	case s.Type.Is("integer"):
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		if s.Format == "int32" {
			low, high = math.MinInt32, math.MaxInt32
		}
		low, high = bound(s.Min, low), bound(s.Max, high)
		if s.ExclusiveMin.IsTrue() {
			low++
		}
		if s.ExclusiveMax.IsTrue() {
			high--
		}
		return rapid.OneOf(rapid.Int64Range(low, high), rapid.SampledFrom([]int64{low, high})).Draw(t, "integer")
	case s.Type.Is("number"):
		return rapid.Float64Range(bound(s.Min, -1e6), bound(s.Max, 1e6)).Draw(t, "number")
	case s.Type.Is("boolean"):
		return rapid.Bool().Draw(t, "boolean")
	case s.Type.Is("object"):
		return Object(s).Draw(t, "object")
	case s.Type.Is("array"):
		if s.MaxItems == nil {
			t.Fatalf("a list needs maxItems, because only its texts count in the memory of a response")
		}
		least := int(s.MinItems)
		return rapid.SliceOfN(Value(s.Items.Value), least, min(least+3, int(*s.MaxItems))).Draw(t, "array")
	}
	t.Fatalf("this test cannot make values of the type %v yet: extend it", s.Type)
	return nil
}

func bound[N int64 | float64](limit *float64, otherwise N) N {
	if limit == nil {
		return otherwise
	}
	return N(*limit)
}

// odd holds characters that a database, driver or encoding may change.
var odd = []rune(" 0Aß\u0301🐕👩🏽‍🚀ש\u202e\u2028\r\n\t\x01\x7f\ufeff\"'`\\,;=%&<?$:{\ufffd\U0010ffff")

// text generates strings.
func text(s *openapi3.Schema) *rapid.Generator[string] {
	least, most := int(s.MinLength), -1
	if s.MaxLength != nil {
		most = int(*s.MaxLength)
	}
	all := rapid.OneOf(rapid.StringN(least, most, -1), rapid.StringOfN(rapid.SampledFrom(odd), least, most, -1))
	switch {
	case s.Format == "date":
		all = moment(time.DateOnly)
	case s.Format == "date-time":
		all = moment(time.RFC3339)
	case s.Format == "uuid":
		all = rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
	case s.Pattern != "":
		all = rapid.OneOf(rapid.StringMatching(s.Pattern), all)
	}
	return all.Filter(func(text string) bool { return s.VisitJSON(text) == nil })
}

func moment(layout string) *rapid.Generator[string] {
	return rapid.Map(rapid.Int64Range(0, 1<<32), func(s int64) string { return time.Unix(s, 0).UTC().Format(layout) })
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
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

package property

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// object returns a random valid object. Optional properties may be missing.
func object(t *rapid.T, s *openapi3.Schema) map[string]any {
	o := map[string]any{}
	for _, name := range names(s) {
		if slices.Contains(s.Required, name) || rapid.Bool().Draw(t, "with "+name) {
			o[name] = value(t, name, s.Properties[name].Value)
		}
	}
	return o
}

// names returns the names of the properties in a fixed order.
func names(s *openapi3.Schema) (all []string) {
	for name := range s.Properties {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// value returns a random value that is valid for s. Integers are int64s.
func value(t *rapid.T, name string, s *openapi3.Schema) any {
	switch {
	case s.Nullable && rapid.IntRange(0, 3).Draw(t, "null") == 0:
		return nil
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(t, name)
	case len(s.AllOf) == 1: // a reference with a description of its own
		return value(t, name, s.AllOf[0].Value)
	case s.Type.Is("string"):
		return text(s).Draw(t, name)
	case s.Type.Is("integer"):
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		if s.Format == "int32" {
			low, high = math.MinInt32, math.MaxInt32
		}
		low, high = bound(s.Min, low), bound(s.Max, high)
		return rapid.OneOf(rapid.Int64Range(low, high), rapid.SampledFrom([]int64{low, high})).Draw(t, name)
	case s.Type.Is("number"):
		return rapid.Float64Range(bound(s.Min, -1e6), bound(s.Max, 1e6)).Draw(t, name)
	case s.Type.Is("boolean"):
		return rapid.Bool().Draw(t, name)
	case s.Type.Is("object"):
		return object(t, s)
	case s.Type.Is("array"):
		items := make([]any, rapid.IntRange(int(s.MinItems), int(s.MinItems)+3).Draw(t, "length of "+name))
		for i := range items {
			items[i] = value(t, name, s.Items.Value)
		}
		return items
	}
	t.Fatalf("this test cannot generate values of %s yet: extend it", name)
	return nil
}

func bound[N int64 | float64](limit *float64, otherwise N) N {
	if limit == nil {
		return otherwise
	}
	return N(*limit)
}

// odd holds characters that a database, driver or encoding may change.
var odd = []rune("0Aß\u0301🐕👩🏽‍🚀ש\u202e\u2028\n\t\x01\x7f\ufeff\"'\\,;=%&<\ufffd\U0010ffff")

// text generates strings without carriage returns, which CSV loses before a line
// feed.
func text(s *openapi3.Schema) *rapid.Generator[string] {
	longest := -1
	if s.MaxLength != nil {
		longest = int(*s.MaxLength)
	}
	all := rapid.OneOf(rapid.StringN(int(s.MinLength), longest, -1), rapid.StringOfN(rapid.SampledFrom(odd), int(s.MinLength), longest, -1))
	formats := map[string]*rapid.Generator[string]{
		"date":      moment(time.DateOnly),
		"date-time": moment(time.RFC3339),
		"uuid":      rapid.StringMatching(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}`),
		"email":     rapid.StringMatching(`[a-z]{1,9}@[a-z]{1,9}\.example`),
	}
	if g, found := formats[s.Format]; found {
		all = g
	} else if s.Pattern != "" {
		all = rapid.OneOf(rapid.StringMatching(s.Pattern), all)
	}
	return all.Filter(func(text string) bool { return !strings.Contains(text, "\r") && s.VisitJSON(text) == nil })
}

func moment(layout string) *rapid.Generator[string] {
	return rapid.Map(rapid.Int64Range(0, 1<<32), func(seconds int64) string { return time.Unix(seconds, 0).UTC().Format(layout) })
}

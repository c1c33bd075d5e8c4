package schema

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// keyword is a row of the table: a keyword of schemas, what a value that breaks
// it is told, and how it is checked. Which of the functions a row has says to
// which types the keyword applies.
type keyword struct {
	name string
	says func(*openapi3.Schema) string

	text   func(*openapi3.Schema) func(string) bool
	whole  func(*openapi3.Schema) func(int64) bool
	number func(*openapi3.Schema) func(float64) bool
	array  func(*openapi3.Schema) func([]any) bool
	object func(*openapi3.Schema) func(map[string]any) bool

	// built is for keywords with other schemas in them, and for those that
	// every value meets: compile reads them. of lists the types, none for all.
	built bool
	of    []string

	note    bool   // says nothing of a value
	refused string // why the service does not start with it
}

// keywords is the table. A test holds it against kin-openapi, so that a keyword
// which is new there is decided here.
var keywords = []keyword{
	{name: "minLength", says: func(s *openapi3.Schema) string { return "must be at least " + count(s.MinLength, "character") }, text: func(s *openapi3.Schema) func(string) bool {
		return func(v string) bool { return uint64(utf8.RuneCountInString(v)) >= s.MinLength }
	}},
	{name: "maxLength", says: func(s *openapi3.Schema) string { return "must be at most " + count(*s.MaxLength, "character") }, text: func(s *openapi3.Schema) func(string) bool {
		return func(v string) bool { return uint64(utf8.RuneCountInString(v)) <= *s.MaxLength }
	}},
	{name: "pattern", says: patternSays, text: func(s *openapi3.Schema) func(string) bool {
		return regexp.MustCompile(s.Pattern).MatchString // checkPattern has compiled it
	}},

	{name: "minimum", says: rangeSays, whole: func(s *openapi3.Schema) func(int64) bool {
		least := leastWhole(s)
		return func(v int64) bool { return v >= least }
	}, number: func(s *openapi3.Schema) func(float64) bool {
		return func(v float64) bool { return v > *s.Min || v == *s.Min && !isExclusive(s.ExclusiveMin) }
	}},
	{name: "maximum", says: rangeSays, whole: func(s *openapi3.Schema) func(int64) bool {
		most := mostWhole(s)
		return func(v int64) bool { return v <= most }
	}, number: func(s *openapi3.Schema) func(float64) bool {
		return func(v float64) bool { return v < *s.Max || v == *s.Max && !isExclusive(s.ExclusiveMax) }
	}},
	{name: "exclusiveMinimum", built: true, of: []string{"integer", "number"}}, // read by minimum
	{name: "exclusiveMaximum", built: true, of: []string{"integer", "number"}}, // read by maximum
	{name: "multipleOf", says: func(s *openapi3.Schema) string { return "must be a multiple of " + decimalText(*s.MultipleOf) }, whole: func(s *openapi3.Schema) func(int64) bool {
		if step := int64(*s.MultipleOf); float64(step) == *s.MultipleOf {
			return func(v int64) bool { return v%step == 0 }
		}
		return func(v int64) bool { return isMultiple(float64(v), *s.MultipleOf) }
	}, number: func(s *openapi3.Schema) func(float64) bool {
		return func(v float64) bool { return isMultiple(v, *s.MultipleOf) }
	}},

	{name: "minItems", says: func(s *openapi3.Schema) string { return "must have at least " + count(s.MinItems, "item") }, array: func(s *openapi3.Schema) func([]any) bool {
		return func(v []any) bool { return uint64(len(v)) >= s.MinItems }
	}},
	{name: "maxItems", says: func(s *openapi3.Schema) string { return "must have at most " + count(*s.MaxItems, "item") }, array: func(s *openapi3.Schema) func([]any) bool {
		return func(v []any) bool { return uint64(len(v)) <= *s.MaxItems }
	}},
	{name: "uniqueItems", says: func(*openapi3.Schema) string { return "must not have the same item twice" }, array: func(*openapi3.Schema) func([]any) bool { return areUnique }},
	{name: "minProperties", says: func(s *openapi3.Schema) string { return "must have at least " + count(s.MinProps, "property") }, object: func(s *openapi3.Schema) func(map[string]any) bool {
		return func(v map[string]any) bool { return uint64(len(v)) >= s.MinProps }
	}},
	{name: "maxProperties", says: func(s *openapi3.Schema) string { return "must have at most " + count(*s.MaxProps, "property") }, object: func(s *openapi3.Schema) func(map[string]any) bool {
		return func(v map[string]any) bool { return uint64(len(v)) <= *s.MaxProps }
	}},

	{name: "type", says: typeSays, built: true},
	{name: "nullable", says: typeSays, built: true},
	{name: "enum", says: func(s *openapi3.Schema) string { return newEnum(s.Enum).says }, built: true},
	{name: "format", says: formatSays, built: true, of: []string{"string", "integer", "number"}},
	{name: "items", built: true, of: []string{"array"}},
	{name: "properties", built: true, of: []string{"object"}},
	{name: "additionalProperties", says: func(*openapi3.Schema) string { return "is not among the properties that are allowed here" }, built: true, of: []string{"object"}},
	{name: "required", says: func(*openapi3.Schema) string { return "is required" }, built: true, of: []string{"object"}},
	{name: "readOnly", says: func(*openapi3.Schema) string { return "is set by the service and must not be sent" }, built: true},
	{name: "allOf", built: true}, // says what its members say
	{name: "oneOf", says: unionSays, built: true},
	{name: "anyOf", says: unionSays, built: true},
	{name: "discriminator", says: discriminatorSays, built: true},

	{name: "title", note: true},
	{name: "description", note: true},
	{name: "default", note: true}, // the service applies it, so that it can tell absent from sent
	{name: "example", note: true},
	{name: "externalDocs", note: true},
	{name: "deprecated", note: true},
	{name: "writeOnly", note: true}, // of requests, which may have it
	{name: "xml", note: true},

	{name: "not", refused: "says only what a value is not, which no sentence to a client can explain; say what it is"},
	{name: "allowEmptyValue", refused: "is no keyword of schemas"},
	{name: "const", refused: only31},
	{name: "examples", refused: only31},
	{name: "prefixItems", refused: only31},
	{name: "contains", refused: only31},
	{name: "minContains", refused: only31},
	{name: "maxContains", refused: only31},
	{name: "patternProperties", refused: only31},
	{name: "dependentSchemas", refused: only31},
	{name: "propertyNames", refused: only31},
	{name: "unevaluatedItems", refused: only31},
	{name: "unevaluatedProperties", refused: only31},
	{name: "if", refused: only31},
	{name: "then", refused: only31},
	{name: "else", refused: only31},
	{name: "dependentRequired", refused: only31},
	{name: "$defs", refused: only31},
	{name: "$schema", refused: only31},
	{name: "$comment", refused: only31},
	{name: "$id", refused: only31},
	{name: "$anchor", refused: only31},
	{name: "$dynamicRef", refused: only31},
	{name: "$dynamicAnchor", refused: only31},
	{name: "contentMediaType", refused: only31},
	{name: "contentEncoding", refused: only31},
	{name: "contentSchema", refused: only31},
}

const only31 = "is a keyword of OpenAPI 3.1, and the document is one of 3.0"

// count returns a number of things: "1 character", "5 characters".
func count(n uint64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func decimalText(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func patternSays(s *openapi3.Schema) string {
	if text, ok := s.Extensions["x-pattern-message"].(string); ok {
		return text
	}
	return "must match the pattern " + s.Pattern
}

func isExclusive(b openapi3.ExclusiveBound) bool { return b.Bool != nil && *b.Bool }

// leastWhole and mostWhole are the bounds of an integer, which may be written
// as fractions, exclusive, or beyond int64.
func leastWhole(s *openapi3.Schema) int64 {
	least := math.Ceil(*s.Min)
	if least <= math.MinInt64 {
		return math.MinInt64
	}
	if isExclusive(s.ExclusiveMin) && least == *s.Min {
		return int64(least) + 1
	}
	return int64(least)
}

func mostWhole(s *openapi3.Schema) int64 {
	most := math.Floor(*s.Max)
	if most >= math.MaxInt64 {
		return math.MaxInt64
	}
	if isExclusive(s.ExclusiveMax) && most == *s.Max {
		return int64(most) - 1
	}
	return int64(most)
}

// rangeSays describes the bounds of a numeric schema.
func rangeSays(s *openapi3.Schema) string { return "must be " + rangeText(s) }

func rangeText(s *openapi3.Schema) string {
	var low, high string
	switch s.Format {
	case "int32":
		low, high = strconv.Itoa(math.MinInt32), strconv.Itoa(math.MaxInt32)
	case "int64":
		low, high = strconv.Itoa(math.MinInt64), strconv.Itoa(math.MaxInt64)
	}
	if s.Min != nil {
		low = decimalText(*s.Min)
	}
	if s.Max != nil {
		high = decimalText(*s.Max)
	}
	above, below := isExclusive(s.ExclusiveMin), isExclusive(s.ExclusiveMax)
	switch {
	case low != "" && high != "" && !above && !below:
		return "between " + low + " and " + high
	case low != "" && high != "":
		return bound(low, above, "greater than ", "at least ") + " and " + bound(high, below, "less than ", "at most ")
	case low != "":
		return bound(low, above, "greater than ", "at least ")
	case high != "":
		return bound(high, below, "less than ", "at most ")
	}
	return ""
}

func bound(value string, exclusive bool, beyond, within string) string {
	if exclusive {
		return beyond + value
	}
	return within + value
}

// typeSays describes the values of the right type.
func typeSays(s *openapi3.Schema) string {
	switch {
	case len(s.Enum) > 0:
		return newEnum(s.Enum).says
	case s.Type.Is("integer"):
		return strings.TrimSuffix("must be an integer "+rangeText(s), " ")
	case s.Type.Is("number"):
		return strings.TrimSuffix("must be a number "+rangeText(s), " ")
	case s.Type.Is("boolean"):
		return "must be true or false"
	case s.Type.Is("array"):
		return "must be an array"
	case s.Type.Is("object"):
		return "must be an object"
	case s.Type.Is("string"):
		return "must be a string"
	}
	return "must not be null"
}

func formatSays(s *openapi3.Schema) string {
	if f := formats[s.Format]; f != nil {
		return f.says
	}
	if s.Format == "float" {
		return "must be a number that 32 bits can hold (IEEE 754)"
	}
	return typeSays(s)
}

func unionSays(s *openapi3.Schema) string {
	members, exactly := s.AnyOf, "at least one"
	if len(s.OneOf) > 0 {
		members, exactly = s.OneOf, "exactly one"
	}
	return "must be " + exactly + " of " + alternatives(memberNames(members))
}

func discriminatorSays(s *openapi3.Schema) string {
	var names []string
	for name := range discriminatorNames(s) {
		names = append(names, name)
	}
	return "must be one of " + alternatives(names)
}

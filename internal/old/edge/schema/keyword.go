package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// keyword is a keyword of schemas that the service keeps. It may have no sentence: some
// say nothing of a value, and some have a sentence in explain.go.
type keyword struct {
	of   []string                      // the types that it applies to; none for all
	says func(*openapi3.Schema) string // the sentence for a value that breaks it, or nil
}

var (
	texts   = []string{"string"}
	numbers = []string{"integer", "number"}
	arrays  = []string{"array"}
	objects = []string{"object"}
	formed  = []string{"string", "integer", "number"}
)

// keywords are all that the service keeps. A document with another is refused.
var keywords = map[string]keyword{
	"minLength": {texts, func(s *openapi3.Schema) string { return "must be at least " + count(s.MinLength, "character") }},
	"maxLength": {texts, func(s *openapi3.Schema) string { return "must be at most " + count(*s.MaxLength, "character") }},
	"pattern":   {texts, patternSays},

	"minimum":          {numbers, rangeSays},
	"maximum":          {numbers, rangeSays},
	"exclusiveMinimum": {numbers, rangeSays},
	"exclusiveMaximum": {numbers, rangeSays},
	"multipleOf":       {numbers, multipleSays},

	"items":       {arrays, nil},
	"minItems":    {arrays, func(s *openapi3.Schema) string { return "must have at least " + count(s.MinItems, "item") }},
	"maxItems":    {arrays, func(s *openapi3.Schema) string { return "must have at most " + count(*s.MaxItems, "item") }},
	"uniqueItems": {arrays, uniqueSays},

	"properties":           {objects, nil},
	"additionalProperties": {objects, nil},
	"minProperties":        {objects, func(s *openapi3.Schema) string { return "must have at least " + count(s.MinProps, "property") }},
	"maxProperties":        {objects, func(s *openapi3.Schema) string { return "must have at most " + count(*s.MaxProps, "property") }},
	"required":             {objects, func(*openapi3.Schema) string { return "is required" }},
	"readOnly":             {nil, readOnlySays},

	"type":     {nil, typeSays},
	"nullable": {nil, typeSays},
	"enum":     {nil, func(s *openapi3.Schema) string { return enumSays(s.Enum) }},
	"format":   {formed, formatSays},

	"allOf": {}, "oneOf": {}, "anyOf": {}, "discriminator": {},

	"default":   {}, // the service applies it, so that it can tell absent from sent
	"writeOnly": {}, // of requests, which may have it

	"title": {}, "description": {}, "example": {}, "externalDocs": {}, "deprecated": {}, "xml": {},
}

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

func multipleSays(s *openapi3.Schema) string {
	return "must be a multiple of " + decimalText(*s.MultipleOf)
}

func uniqueSays(*openapi3.Schema) string { return "must not have the same item twice" }

func readOnlySays(*openapi3.Schema) string { return "is set by the service and must not be sent" }

func enumSays(values []any) string {
	var names []string
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			data, _ := json.Marshal(v) // what was YAML becomes JSON
			text = string(data)
		}
		names = append(names, text)
	}
	if len(names) == 1 {
		return "must be " + names[0]
	}
	return "must be one of " + strings.Join(names, ", ")
}

func isExclusive(b openapi3.ExclusiveBound) bool { return b.Bool != nil && *b.Bool }

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
		return enumSays(s.Enum)
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
	case len(s.AllOf) > 0:
		return typeSays(s.AllOf[0].Value)
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

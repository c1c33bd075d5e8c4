package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// keyword is a row of the table: a keyword of schemas, the types that it applies
// to, and the sentence for a value that breaks it.
type keyword struct {
	name string
	of   []string // none for all
	says func(*openapi3.Schema) string

	silent  bool   // says nothing of a value, or has the sentence of another row
	refused string // why the service does not start with it
}

var (
	texts   = []string{"string"}
	numbers = []string{"integer", "number"}
	arrays  = []string{"array"}
	objects = []string{"object"}
	formed  = []string{"string", "integer", "number"}
)

// keywords is the table, but for only31. A test holds both against kin-openapi, so
// that a keyword which is new there is decided here.
var keywords = []keyword{
	{name: "minLength", of: texts, says: func(s *openapi3.Schema) string { return "must be at least " + count(s.MinLength, "character") }},
	{name: "maxLength", of: texts, says: func(s *openapi3.Schema) string { return "must be at most " + count(*s.MaxLength, "character") }},
	{name: "pattern", of: texts, says: patternSays},

	{name: "minimum", of: numbers, says: rangeSays},
	{name: "maximum", of: numbers, says: rangeSays},
	{name: "exclusiveMinimum", of: numbers, says: rangeSays},
	{name: "exclusiveMaximum", of: numbers, says: rangeSays},
	{name: "multipleOf", of: numbers, says: multipleSays},

	{name: "items", of: arrays, silent: true},
	{name: "minItems", of: arrays, says: func(s *openapi3.Schema) string { return "must have at least " + count(s.MinItems, "item") }},
	{name: "maxItems", of: arrays, says: func(s *openapi3.Schema) string { return "must have at most " + count(*s.MaxItems, "item") }},
	{name: "uniqueItems", of: arrays, says: uniqueSays},

	{name: "properties", of: objects, silent: true},
	{name: "additionalProperties", of: objects, silent: true}, // explain has its sentence, which kin-openapi calls one of properties
	{name: "minProperties", of: objects, says: func(s *openapi3.Schema) string { return "must have at least " + count(s.MinProps, "property") }},
	{name: "maxProperties", of: objects, says: func(s *openapi3.Schema) string { return "must have at most " + count(*s.MaxProps, "property") }},
	{name: "required", of: objects, says: func(*openapi3.Schema) string { return "is required" }},
	{name: "readOnly", says: readOnlySays},

	{name: "type", says: typeSays},
	{name: "nullable", says: typeSays},
	{name: "enum", says: func(s *openapi3.Schema) string { return enumSays(s.Enum) }},
	{name: "format", of: formed, says: formatSays},

	{name: "allOf", silent: true},         // says what its members say
	{name: "oneOf", silent: true},         // explain has its sentence,
	{name: "anyOf", silent: true},         // and this one's,
	{name: "discriminator", silent: true}, // and this one's

	{name: "title", silent: true},
	{name: "description", silent: true},
	{name: "default", silent: true}, // the service applies it, so that it can tell absent from sent
	{name: "example", silent: true},
	{name: "externalDocs", silent: true},
	{name: "deprecated", silent: true},
	{name: "writeOnly", silent: true}, // of requests, which may have it
	{name: "xml", silent: true},

	{name: "not", refused: "says only what a value is not, which no sentence to a client can explain; say what it is"},
	{name: "allowEmptyValue", refused: "is no keyword of schemas"},
}

// only31 are the keywords that OpenAPI 3.1 has added.
var only31 = []string{
	"const", "examples", "prefixItems", "contains", "minContains", "maxContains", "patternProperties", "dependentSchemas",
	"propertyNames", "unevaluatedItems", "unevaluatedProperties", "if", "then", "else", "dependentRequired", "$defs", "$schema",
	"$comment", "$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "contentMediaType", "contentEncoding", "contentSchema",
}

// keywordOf returns the row of a keyword.
func keywordOf(name string) (keyword, bool) {
	if slices.Contains(only31, name) {
		return keyword{name: name, refused: "is a keyword of OpenAPI 3.1, and the document is one of 3.0"}, true
	}
	i := slices.IndexFunc(keywords, func(row keyword) bool { return row.name == name })
	if i < 0 {
		return keyword{}, false
	}
	return keywords[i], true
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

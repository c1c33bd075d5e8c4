package edge

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
)

// describe makes the client's sentence of an error of kin-openapi's schema
// validation. It starts with the place of the value below root.
func describe(err error, root string) string {
	e, ok := errors.AsType[*openapi3.SchemaError](err)
	if !ok {
		return root + " does not match the document"
	}
	for e.SchemaField == "allOf" {
		member, ok := errors.AsType[*openapi3.SchemaError](e.Origin)
		if !ok {
			break
		}
		e = member
	}
	return place(root, e.JSONPointer()) + " " + describeRule(e)
}

// describeRule says what the rule of a schema error demands.
func describeRule(e *openapi3.SchemaError) string {
	s := e.Schema
	switch e.SchemaField {
	case "required":
		return "is required"
	case "nullable":
		return "must not be null"
	case "type":
		return describeType(s)
	case "enum":
		return describeEnum(s)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return describeRange(s)
	case "pattern":
		if message, ok := s.Extensions["x-pattern-message"].(string); ok {
			return message
		}
		return "must match the pattern " + s.Pattern
	case "format":
		return "must be a valid " + s.Format
	case "minLength":
		return fmt.Sprintf("must have at least %d characters", s.MinLength)
	case "maxLength":
		return fmt.Sprintf("must have at most %d characters", *s.MaxLength)
	case "minItems":
		return fmt.Sprintf("must have at least %d items", s.MinItems)
	case "maxItems":
		return fmt.Sprintf("must have at most %d items", *s.MaxItems)
	case "uniqueItems":
		return "must not have the same item twice"
	case "multipleOf":
		return "must be a multiple of " + number(*s.MultipleOf)
	case "properties":
		return "has a property that is not allowed"
	}
	return "does not match the document"
}

func describeType(s *openapi3.Schema) string {
	switch {
	case s.Type.Is("integer"):
		return "must be an integer, written in digits"
	case s.Type.Is("boolean"):
		return "must be true or false"
	case s.Type.Is("array"), s.Type.Is("object"):
		return "must be an " + s.Type.Slice()[0]
	case s.Type != nil && len(s.Type.Slice()) > 0:
		return "must be a " + s.Type.Slice()[0]
	}
	return "has the wrong type"
}

func describeEnum(s *openapi3.Schema) string {
	values := make([]string, len(s.Enum))
	for i, v := range s.Enum {
		values[i] = fmt.Sprint(v)
	}
	return "must be one of " + strings.Join(values, ", ")
}

// describeRange names the bounds of a number, which for an integer are those
// of its format if the schema has none.
func describeRange(s *openapi3.Schema) string {
	low, high := "", ""
	if s.Min != nil {
		low = number(*s.Min)
	}
	if s.Max != nil {
		high = number(*s.Max)
	}
	if low == "" && high == "" && s.Type.Is("integer") {
		if s.Format == "int32" {
			return fmt.Sprintf("must be an integer between %d and %d", math.MinInt32, math.MaxInt32)
		}
		return fmt.Sprintf("must be an integer between %d and %d", int64(math.MinInt64), int64(math.MaxInt64))
	}
	switch {
	case high == "" && s.Type.Is("integer"):
		return fmt.Sprintf("must be an integer between %s and %d", low, int64(math.MaxInt64))
	case high == "":
		return "must be at least " + low
	case low == "":
		return "must be at most " + high
	}
	return "must be between " + low + " and " + high
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// describeDecoding makes the client's sentence of an error from decoding a
// body into its Go type. It is about a number that a float64 holds but the Go
// type does not, since the schema has accepted the value.
func describeDecoding(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return "the body does not match the document"
	}
	where := place("the body", strings.FieldsFunc(string(e.JSONPointer), func(r rune) bool { return r == '/' }))
	t := e.GoType
	if t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return where + " does not match the document"
	case t.Kind() == reflect.Int32:
		return where + fmt.Sprintf(" must be an integer between %d and %d, written in digits", math.MinInt32, math.MaxInt32)
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return where + fmt.Sprintf(" must be an integer between %d and %d, written in digits", int64(math.MinInt64), int64(math.MaxInt64))
	case t.Kind() == reflect.Float64 || t.Kind() == reflect.Float32 || t.Kind() == reflect.Interface:
		return where + " has a number that is too large"
	}
	return where + " does not match the document"
}

// place writes the path to a value as in tags[2].name.
func place(root string, pointer []string) string {
	if len(pointer) == 0 {
		return root
	}
	var b strings.Builder
	for _, step := range pointer {
		if _, err := strconv.Atoi(step); err == nil {
			b.WriteString("[" + step + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		if len(step) > 64 {
			step = "a property"
		}
		b.WriteString(step)
	}
	return b.String()
}

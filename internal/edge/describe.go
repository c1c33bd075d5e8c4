package edge

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// describe describes a schema error of kin-openapi for the client. The sentence
// begins with the path to the value, or with root if the path is empty.
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

// describeRule describes the rule that the value breaks.
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
	case "minimum", "maximum":
		return describeRange(s)
	case "pattern":
		if message, ok := s.Extensions["x-pattern-message"].(string); ok {
			return message
		}
		return "must match the pattern " + s.Pattern
	case "format":
		if s.Type.Is("integer") {
			return describeRange(s)
		}
		return "must be a valid " + s.Format
	case "minLength":
		return "must have at least " + counted(s.MinLength, "character")
	case "maxLength":
		return "must have at most " + counted(*s.MaxLength, "character")
	case "minItems":
		return "must have at least " + counted(s.MinItems, "item")
	case "maxItems":
		return "must have at most " + counted(*s.MaxItems, "item")
	case "uniqueItems":
		return "must not have the same item twice"
	case "multipleOf":
		return "must be a multiple of " + number(*s.MultipleOf)
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

// describeRange describes the bounds of a number. An integer without a minimum or
// maximum has the bound of its format instead.
func describeRange(s *openapi3.Schema) string {
	low, high, kind := "", "", ""
	if s.Type.Is("integer") {
		low, high = bounds(s.Format == "int32")
	}
	if s.Type.Is("integer") && (s.Min == nil || s.Max == nil) {
		kind = "an integer "
	}
	if s.Min != nil {
		low = number(*s.Min)
	}
	if s.Max != nil {
		high = number(*s.Max)
	}
	switch {
	case high == "":
		return "must be at least " + low
	case low == "":
		return "must be at most " + high
	}
	return "must be " + kind + "between " + low + " and " + high
}

// bounds returns the bounds of an int32 or int64.
func bounds(is32Bit bool) (low, high string) {
	if is32Bit {
		return strconv.Itoa(math.MinInt32), strconv.Itoa(math.MaxInt32)
	}
	return strconv.FormatInt(math.MinInt64, 10), strconv.FormatInt(math.MaxInt64, 10)
}

func number(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// describeDecoding describes, for the client, an error from decoding a body into
// its Go type. The value matches the schema but does not fit the type, such as 7.0
// for an integer.
func describeDecoding(err error) string {
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok || e.GoType == nil {
		return "the body does not match the document"
	}
	where := placeOf(e.JSONPointer)
	switch kind := e.GoType.Kind(); kind {
	case reflect.Int, reflect.Int64, reflect.Int32:
		low, high := bounds(kind == reflect.Int32)
		return where + " must be an integer between " + low + " and " + high + ", written in digits"
	case reflect.Float64, reflect.Float32:
		return where + " must be a smaller number"
	}
	return where + " must be a valid " + strings.ToLower(e.GoType.Name())
}

// placeOf returns the path to a value in a body.
func placeOf(p jsontext.Pointer) string { return place("the body", slices.Collect(p.Tokens())) }

// place returns the path to a value, such as tags[2].name.
func place(root string, pointer []string) string {
	var b strings.Builder
	for i, step := range pointer {
		if len(step) > 64 {
			step = "a property" // the client chose the name
		}
		switch _, err := strconv.Atoi(step); {
		case err == nil && i == 0:
			b.WriteString(root + "[" + step + "]")
		case err == nil:
			b.WriteString("[" + step + "]")
		case i > 0:
			b.WriteString("." + step)
		default:
			b.WriteString(step)
		}
	}
	return cmp.Or(b.String(), root)
}

// counted returns n and its noun, such as "1 item" or "2 items".
func counted(n uint64, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}

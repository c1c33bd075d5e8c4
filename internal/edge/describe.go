package edge

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// describe tells the client why a value cannot be decoded or does not match its schema. The
// sentence begins with the path to the wrong part, or with root if all of the value is wrong.
func describe(err error, root string, schema *openapi3.Schema) string {
	var e *openapi3.SchemaError
	for errors.As(err, &e) && e.SchemaField == "allOf" {
		err = e.Origin
	}
	decoding, undecodable := errors.AsType[*json.SemanticError](err)
	switch {
	case errors.Is(err, errTooDeep):
		return errTooDeep.Error()
	case errors.Is(err, openapi3filter.ErrInvalidRequired):
		return root + " is required"
	case undecodable && decoding.GoType != nil && reflect.Zero(decoding.GoType).CanInt(): // the schema accepts 7.0
		return placeOf(decoding.JSONPointer) + " " + describeInteger(decoding.GoType.Bits())
	case e == nil:
		return root + " does not match the document"
	}
	path := e.JSONPointer()
	sentence := place(root, path) + " " + describeRule(e)
	if e.Value == nil && len(path) == 1 && !slices.Contains(schema.Required, path[0]) {
		sentence += "; it may be left out"
	}
	return sentence
}

// describeSyntax tells the client what is wrong with the syntax of a body.
func describeSyntax(e *jsontext.SyntacticError, body []byte) string {
	switch {
	case errors.Is(e, jsontext.ErrDuplicateName):
		at := e.JSONPointer
		return fmt.Sprintf("%s has the property %.64q twice", placeOf(at.Parent()), at.LastToken())
	case errors.Is(e, io.ErrUnexpectedEOF):
		return "the JSON of the body is incomplete"
	}
	found := body[min(int(e.ByteOffset), len(body)):]
	return fmt.Sprintf("the body is not valid JSON in UTF-8: unexpected %.6q at byte %d", found, e.ByteOffset+1)
}

// describeRule describes the rule that the value breaks.
func describeRule(e *openapi3.SchemaError) string {
	if e.Value == nil {
		return "must not be null"
	}
	s := e.Schema
	_, isString := e.Value.(string)
	message, _ := s.Extensions["x-pattern-message"].(string)
	switch field := e.SchemaField; {
	case field == "required":
		return "is required"
	case field == "enum":
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		return "must be one of " + strings.Join(values, ", ")
	case (field == "minimum" || field == "maximum") && s.Min != nil && s.Max != nil:
		return fmt.Sprintf("must be between %v and %v", *s.Min, *s.Max)
	case field == "pattern" && message != "":
		return message
	case field == "type" && isString:
		return describeType(s) + ", not a string"
	case field == "type" || field == "format" && s.Type.Is("integer"):
		return describeType(s)
	case field == "format":
		return "must be a valid " + s.Format
	}
	if rule, ok := strings.CutPrefix(e.Reason, "number "); ok {
		return rule
	}
	return "is invalid: " + e.Reason
}

func describeType(s *openapi3.Schema) string {
	if s.Type.Is("integer") {
		return describeInteger(bits(s))
	}
	return "must be of type " + strings.Join(s.Type.Slice(), " or ")
}

// bits returns the size of an integer.
func bits(s *openapi3.Schema) int {
	if s.Format == "int32" {
		return 32
	}
	return 64
}

func describeInteger(bits int) string {
	return fmt.Sprintf("must be an integer of %d bits, written in digits", bits)
}

// placeOf returns the path to a value in a body.
func placeOf(p jsontext.Pointer) string { return place("the body", slices.Collect(p.Tokens())) }

// place returns the path to a value, such as tags[2].name.
func place(root string, pointer []string) string {
	path := ""
	for _, step := range pointer {
		if len(step) > 64 {
			step = "a property" // the client chose the name
		}
		if _, err := strconv.Atoi(step); err == nil {
			path += "[" + step + "]"
		} else {
			path += "." + step
		}
	}
	if property, ok := strings.CutPrefix(path, "."); ok {
		return property
	}
	return root + path
}

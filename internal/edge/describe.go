package edge

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits of a message.
const (
	maxFaults  = 5
	maxMessage = 600 // bytes, unless one sentence is longer
)

// describe tells the client why a value does not match its schema or its Go type: one sentence
// for each fault. It begins with the path to the wrong part, or with root if the whole value is
// wrong.
func describe(err error, root string, schema *openapi3.Schema) string {
	var message []string
	size := 0
	for _, sentence := range sentences(err, root, schema) {
		if slices.Contains(message, sentence) {
			continue
		}
		size += len(sentence) + len("; ")
		if len(message) == maxFaults || len(message) > 0 && size > maxMessage {
			break
		}
		message = append(message, sentence)
	}
	return cmp.Or(strings.Join(message, "; "), root+" does not match the document")
}

// sentences returns a sentence for each fault in err's tree.
func sentences(err error, root string, schema *openapi3.Schema) (all []string) {
	switch e := err.(type) {
	case nil:
		return nil
	case openapi3.MultiError:
		for _, each := range e {
			all = append(all, sentences(each, root, schema)...)
		}
		return all
	case *openapi3.SchemaError:
		if e.SchemaField == "allOf" {
			break // it wraps the errors of its parts
		}
		path := e.JSONPointer()
		sentence := place(root, path) + " " + describeRule(e)
		if e.Value == nil && len(path) == 1 && !slices.Contains(schema.Required, path[0]) {
			sentence += ", which may be left out"
		}
		return []string{sentence}
	case *json.SemanticError:
		if e.GoType == nil || !reflect.Zero(e.GoType).CanInt() || e.JSONKind != '0' {
			return nil
		}
		return []string{placeOf(e.JSONPointer) + " " + describeInteger(e.GoType.Bits())} // the schema accepts 7.0
	}
	return sentences(errors.Unwrap(err), root, schema)
}

// describeSyntax tells the client what is wrong with the syntax of a body.
func describeSyntax(err error, body []byte) string {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok:
		return errTooDeep.Error()
	case errors.Is(e, jsontext.ErrDuplicateName):
		at := e.JSONPointer
		return fmt.Sprintf("%s has the property %.32q twice", placeOf(at.Parent()), at.LastToken())
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
	switch e.SchemaField {
	case "required":
		return "is required"
	case "enum":
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = strings.Replace(fmt.Sprint(v), "<nil>", "null", 1) // of an enum that may be null
		}
		return "must be one of " + strings.Join(values, ", ")
	case "minimum", "maximum":
		if s.Min != nil && s.Max != nil {
			return fmt.Sprintf("must be between %v and %v", *s.Min, *s.Max)
		}
	case "pattern":
		if message, ok := s.Extensions["x-pattern-message"].(string); ok {
			return message
		}
	case "type":
		if _, isString := e.Value.(string); isString {
			return describeType(s) + ", not a string"
		}
		return describeType(s)
	case "format":
		if s.Type.Is("integer") {
			return describeType(s)
		}
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
		unprintable := strings.ContainsFunc(step, func(r rune) bool { return !unicode.IsPrint(r) })
		if len(step) > 64 || unprintable { // the client chose the name
			step = "a property"
		}
		if _, err := strconv.Atoi(step); err == nil {
			path += "[" + step + "]"
		} else {
			path += "." + step
		}
	}
	if len(path) > maxMessage/4 {
		return "a nested property"
	}
	if property, ok := strings.CutPrefix(path, "."); ok {
		return property
	}
	return root + path
}

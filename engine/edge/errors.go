package edge

import (
	"cmp"
	encodingjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/petstore/engine/fault"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"
)

// messages are the default messages of the kinds.
var messages = map[fault.Kind]string{
	fault.Unauthorized:   "a valid API key is required, sent as Authorization: Bearer API_KEY",
	fault.Forbidden:      "this API key may only read; the operation needs one that may write",
	fault.RequestTimeout: "the body did not arrive in time; try again",
	fault.Internal:       "the service failed to answer; its log has the details",
	fault.Unavailable:    "the service is unavailable; try again later",
}

// faultOf returns the *fault.Error in err's tree. It translates an error of Echo, without its
// text; any other error is Internal.
func (h *Handler) faultOf(err error) *fault.Error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		return e
	}
	e, ok := errors.AsType[*echo.HTTPError](err)
	if !ok {
		return fault.Wrap(fault.Internal, err)
	}
	switch e.Code {
	case http.StatusBadRequest: // the generated code cannot bind a parameter that the schema accepts
		return fault.New(fault.InvalidParameter, "a parameter has a value that cannot be read")
	case http.StatusNotFound:
		message := "there is nothing at this path; the operations are under " +
			cmp.Or(h.options.PublicURL, h.document.Base, "/")
		if h.docsPath != "" {
			message += ", and " + h.docsURL + " describes them"
		}
		return fault.New(fault.NotFound, message)
	case http.StatusMethodNotAllowed:
		return fault.New(fault.MethodNotAllowed,
			"this path does not support the method; the Allow header lists the methods it supports")
	}
	return fault.Wrap(fault.Internal, err)
}

// writeError is Echo's HTTPErrorHandler: it writes the response to every error.
func (h *Handler) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	e := h.faultOf(err)
	kind := fault.KindOf(e)
	header := c.Response().Header()
	if kind.Status == http.StatusServiceUnavailable {
		header.Set("Retry-After", "1")
	}
	message := cmp.Or(e.Message, messages[kind], http.StatusText(kind.Status))
	body, _ := encodingjson.Marshal(h.service.ErrorBody(kind, message)) // a struct of strings and numbers
	// With its length, the response is complete before ServeHTTP returns.
	header.Set("Content-Length", strconv.Itoa(len(body)+len("\n")))
	_ = c.JSONBlob(kind.Status, append(body, '\n')) // the client may be gone
}

// Limits of a message.
const (
	maxFaults  = 5
	maxMessage = 600 // bytes, unless one sentence is longer
)

// describe tells the client why a value does not match its schema or its Go type: one sentence for
// each fault. It begins with the path to the wrong part, or with root if the whole value is wrong.
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
		if branches, ok := errors.AsType[openapi3.MultiError](e.Origin); ok && e.SchemaField == "oneOf" {
			for _, branch := range branches { // only one with a discriminator; else that with the fewest faults
				if faults := sentences(branch, root, schema); all == nil || len(faults) < len(all) {
					all = faults
				}
			}
			return all
		}
		path := e.JSONPointer()
		if e.SchemaField == "discriminator" {
			return []string{place(root, append(path, e.Schema.Discriminator.PropertyName)) + " " + describeRule(e)}
		}
		sentence := place(root, path) + " " + describeRule(e)
		if e.Value == nil && len(path) == 1 && !slices.Contains(schema.Required, path[0]) {
			sentence += "; it may be left out"
		}
		return []string{sentence}
	case *json.SemanticError: // the schema accepts 7.0, and 1e39
		if e.GoType == nil || e.JSONKind != '0' {
			return nil
		}
		number := reflect.Zero(e.GoType)
		if number.Kind() == reflect.Map && e.GoType.Key().Kind() == reflect.Bool { // of package nullable
			number = reflect.Zero(e.GoType.Elem())
		}
		if !number.CanInt() && !number.CanFloat() {
			return nil
		}
		return []string{placeOf(e.JSONPointer) + " " + describeNumber(number.CanInt(), number.Type().Bits())}
	}
	return sentences(errors.Unwrap(err), root, schema)
}

// describeSyntax tells the client what is wrong with the syntax of a body.
func describeSyntax(err error) string {
	e, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok:
		return errTooDeep.Error()
	case errors.Is(e, jsontext.ErrDuplicateName):
		return placeOf(e.JSONPointer) + " is given twice"
	case errors.Is(e, io.ErrUnexpectedEOF):
		return "the JSON of the body is incomplete"
	}
	return fmt.Sprintf("the body is not valid JSON in UTF-8: byte %d is unexpected", e.ByteOffset+1)
}

// describeRule describes the rule that the value breaks.
func describeRule(e *openapi3.SchemaError) string {
	s := e.Schema
	switch {
	case e.SchemaField == "discriminator" && e.Value == nil:
		return "is required"
	case e.Value == nil:
		return "must not be null"
	}
	switch e.SchemaField {
	case "discriminator":
		return "must be one of " + strings.Join(slices.Sorted(maps.Keys(s.Discriminator.Mapping)), ", ")
	case "oneOf", "anyOf":
		return "must have one of the forms in the document"
	case "required":
		return "is required"
	case "enum":
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = strings.Replace(fmt.Sprint(v), "<nil>", "null", 1) // of an enum that may be null
		}
		return "must be one of " + strings.Join(values, ", ")
	case "minimum", "maximum":
		switch {
		case s.Min != nil && s.Max != nil:
			return "must be between " + decimal(*s.Min) + " and " + decimal(*s.Max)
		case s.Min != nil:
			return "must be at least " + decimal(*s.Min)
		}
		return "must be at most " + decimal(*s.Max)
	case "exclusiveMinimum":
		return "must be more than " + decimal(*cmp.Or(s.ExclusiveMin.Value, s.Min))
	case "exclusiveMaximum":
		return "must be less than " + decimal(*cmp.Or(s.ExclusiveMax.Value, s.Max))
	case "multipleOf":
		return "must be a multiple of " + decimal(*s.MultipleOf)
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
		switch {
		case s.Type.Is("integer"):
			return describeType(s)
		case s.Format == "byte":
			return "must be in base64, with padding"
		}
		return "must be a valid " + s.Format
	}
	return "is invalid: " + e.Reason
}

// decimal writes a number without an exponent.
func decimal(number float64) string { return strconv.FormatFloat(number, 'f', -1, 64) }

func describeType(s *openapi3.Schema) string {
	if s.Type.Is("integer") || s.Type.Is("number") {
		return describeNumber(s.Type.Is("integer"), bits(s))
	}
	return "must be of type " + strings.Join(s.Type.Slice(), " or ")
}

// bits returns the size of a number in the generated code.
func bits(s *openapi3.Schema) int {
	if s.Format == "int32" || s.Type.Is("number") && s.Format != "double" {
		return 32
	}
	return 64
}

func describeNumber(integer bool, bits int) string {
	if integer {
		return fmt.Sprintf("must be a %d-bit integer without fraction or exponent", bits)
	}
	return fmt.Sprintf("must be a %d-bit number", bits)
}

// placeOf returns the path to a value in a body.
func placeOf(p jsontext.Pointer) string { return place("the body", slices.Collect(p.Tokens())) }

// place returns the path to a value, such as tags[2].name, unless it is long.
func place(root string, pointer []string) string {
	path := ""
	for _, step := range pointer {
		if _, err := strconv.Atoi(step); err == nil {
			path += "[" + step + "]"
		} else {
			path += "." + step
		}
	}
	if len(path) > maxMessage/4 {
		return "a property"
	}
	if property, ok := strings.CutPrefix(path, "."); ok {
		return cmp.Or(property, "a property without a name")
	}
	return root + path
}

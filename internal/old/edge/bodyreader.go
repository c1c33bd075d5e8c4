package edge

import (
	"errors"
	"fmt"

	"github.com/oapi-codegen/runtime"

	"example.com/petstore/internal/old/edge/schema"
)

// BodyReader returns a function that reads bodies of an operation which come from
// elsewhere than HTTP, such as the rows of a file, exactly as the service reads
// them. It decodes a text strictly, holds it against the document, and binds it to
// T, the generated type of the body; value has the properties that T has not, too.
// The function's error is the client's sentence, in which whole names all of the
// text: "the row". The function may be called by any number of goroutines.
// BodyReader fails where the document is not valid or the operation has no body.
func BodyReader[T any](document []byte, operationID string) (read func(text []byte, whole string) (value any, body T, err error), err error) {
	doc, err := loadDocument(document)
	if err != nil {
		return nil, err
	}
	for _, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			if o.OperationID != operationID {
				continue
			}
			s, err := newBody(method, o.RequestBody)
			if err != nil {
				return nil, err
			}
			if s == nil {
				return nil, fmt.Errorf("openapi.yaml: %s has no body", operationID)
			}
			return func(text []byte, whole string) (value any, body T, err error) {
				value, fault := readValue(s, text, whole, nil)
				if fault != "" {
					return nil, body, errors.New(fault)
				}
				return value, body, runtime.BindJSONValue(value, &body)
			}, nil
		}
	}
	return nil, fmt.Errorf("openapi.yaml: it has no operation %s", operationID)
}

// readValue decodes a JSON text and holds its value against s. fault is the client's
// sentence, or "". whole names all of the text in it. also may be nil. It looks at
// the value first and returns a fault of its own: a misspelt property is also a
// missing one, and only the first of these faults helps.
func readValue(s *schema.Schema, text []byte, whole string, also func(value any) string) (value any, fault string) {
	value, fault = decodeJSON(text)
	if fault != "" {
		return nil, whole + " " + fault
	}
	if also != nil {
		if fault := also(value); fault != "" {
			return nil, fault
		}
	}
	if v := s.Check(value); v != nil {
		place := v.Place("")
		if place == "" {
			place = whole
		}
		return nil, place + " " + v.Message
	}
	if s.Indirect() {
		s.Prune(value)
	}
	return value, ""
}

package edge

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/getkin/kin-openapi/openapi3"
)

// checkErrors returns an error where the document promises another body of an error
// than the edge writes.
func checkErrors(doc *openapi3.T, o *openapi3.Operation) error {
	if doc.Components != nil && doc.Components.Schemas["Error"] != nil {
		if err := checkErrorSchema(doc.Components.Schemas["Error"].Value); err != nil {
			return fmt.Errorf("its schema Error %w", err)
		}
	}
	for status, response := range o.Responses.Map() {
		if status[0] == '4' || status[0] == '5' || status == "default" {
			if err := checkErrorResponse(response.Value); err != nil {
				return fmt.Errorf("the body of its response %s %w", status, err)
			}
		}
	}
	return nil
}

func checkErrorResponse(response *openapi3.Response) error {
	if len(response.Content) == 0 {
		return nil
	}
	content := response.Content[mediaTypeJSON]
	if content == nil || len(response.Content) > 1 {
		return fmt.Errorf("is not %s alone, which every error of the service is", mediaTypeJSON)
	}
	if content.Schema == nil {
		return nil
	}
	return checkErrorSchema(content.Schema.Value)
}

// errorProperties are the properties of every error, and their types.
var errorProperties = map[string]string{"code": "string", "message": "string", "status": "integer"}

// checkErrorSchema returns an error unless the errors of the edge keep the schema.
func checkErrorSchema(s *openapi3.Schema) error {
	if s.Type != nil && !s.Type.Permits("object") {
		return errors.New("is no object, as the service's errors are")
	}
	for _, name := range s.Required {
		if errorProperties[name] == "" {
			return fmt.Errorf("requires %s, and the service's errors have code, message and status alone", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(errorProperties)) {
		property := s.Properties[name]
		if property == nil && s.AdditionalProperties.Has != nil && !*s.AdditionalProperties.Has {
			return fmt.Errorf("allows no %s, which the service's errors have", name)
		}
		if want := errorProperties[name]; property != nil && !property.Value.Type.Permits(want) {
			return fmt.Errorf("has another %s than the service's errors, where it is of the type %s", name, want)
		}
	}
	return nil
}

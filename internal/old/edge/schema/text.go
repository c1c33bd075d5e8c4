package schema

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// CheckText is Check of the text of a parameter, for schemas of a scalar type.
func (s *Schema) CheckText(text string) *Violation {
	if _, ok := s.valid[text]; ok {
		return nil
	}
	value, v := read(s.document, text)
	if v != nil {
		return v
	}
	return s.Check(value)
}

// CheckTexts is Check of the texts of an array's items.
func (s *Schema) CheckTexts(texts []string) *Violation {
	array := make([]any, len(texts))
	for i, text := range texts {
		var v *Violation
		if array[i], v = read(items(s.document), text); v != nil {
			return v.in(ofItem(i))
		}
	}
	return s.Check(array)
}

// CheckProperties is Check of an object whose properties have these names, of the
// schema, and these texts.
func (s *Schema) CheckProperties(names, texts []string) *Violation {
	object := map[string]any{}
	for i, name := range names {
		var v *Violation
		if object[name], v = read(s.document.Properties[name].Value, texts[i]); v != nil {
			return v.in(ofProperty(name))
		}
	}
	return s.Check(object)
}

// read returns the value that a text stands for. It must be written as in JSON:
// kin-openapi would take +5 and 0x1p2 for numbers.
func read(s *openapi3.Schema, text string) (value any, wrong *Violation) {
	ok := true
	switch Kind(s) {
	case "integer":
		_, ok = parseInteger(text)
		value = json.Number(text)
	case "number":
		ok = jsonNumber.MatchString(text)
		value = json.Number(text)
	case "boolean":
		ok = text == "true" || text == "false"
		value = text == "true"
	default:
		value = text
	}
	switch {
	case text == "":
		return nil, &Violation{Message: "must not be empty"}
	case !ok:
		return nil, &Violation{Message: typeSays(s)}
	case !utf8.ValidString(text) && len(s.Enum) == 0: // the enum has a better sentence
		return nil, &Violation{Message: "must be valid UTF-8"}
	}
	return value, nil
}

// jsonNumber is the grammar of RFC 8259, section 6.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

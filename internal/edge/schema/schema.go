// Package schema holds values of requests against the schemas of the document.
//
// kin-openapi validates every value. Around it stand the two parts that it does not
// have. The first is the client's sentence: which rule is broken, where, and what
// would keep it. The second is exactness: kin-openapi compares every number as a
// float64 and passes values that the generated code cannot bind. Both are made
// ready once, when the service starts. A keyword that the package does not know, or
// that the generated code would not keep, is refused by name then.
package schema

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
)

// Schema is a schema of the document, ready to check values. It may be used by
// any number of goroutines.
type Schema struct {
	document *openapi3.Schema                  // for kin-openapi; nil below the outermost schema
	options  []openapi3.SchemaValidationOption // its options: as a request, where that makes a difference
	valid    map[string]struct{}               // the valid texts of a parameter, where they are few

	kind       string // as in type: "" where any value will do
	nullable   bool
	wrong      string // the sentence for a value of another type
	format     *format
	formatName string
	enum       *enum

	// The checks of the keyword table, by the type they apply to.
	texts   []check[string]
	wholes  []check[int64]
	numbers []check[float64]
	arrays  []check[[]any]
	objects []check[map[string]any]

	items      *Schema
	required   []string
	properties map[string]*Schema
	names      []string // of properties, sorted, so that the same fault is named every time
	readOnly   bool
	closed     bool    // no other properties
	additional *Schema // what other properties must be, or nil

	allOf []*Schema
	union *union

	indirect bool // the generated type reads itself by encoding/json
}

// check is a rule and the sentence for a value that breaks it.
type check[T any] struct {
	holds func(T) bool
	says  string
}

func firstBroken[T any](checks []check[T], value T) *Violation {
	for _, c := range checks {
		if !c.holds(value) {
			return &Violation{Message: c.says}
		}
	}
	return nil
}

// Check tells how value, which is as encoding/json has it but for numbers
// (json.Number), breaks the schema; nil where it does not.
func (s *Schema) Check(value any) *Violation { return s.confirm(value, s.check(value)) }

// CheckText is Check of the text of a parameter, for schemas of a scalar type.
func (s *Schema) CheckText(text string) *Violation {
	if _, ok := s.valid[text]; ok {
		return nil
	}
	return s.confirm(s.Value(text), s.checkText(text))
}

// confirm returns the violation found here, or has kin-openapi validate the value.
// A test holds that kin-openapi allows every value that is allowed here. Should the
// two differ, the verdict of kin-openapi counts.
func (s *Schema) confirm(value any, found *Violation) *Violation {
	if found == nil && s.document.VisitJSON(value, s.options...) != nil {
		return &Violation{Message: "is not as the document describes it"}
	}
	return found
}

func (s *Schema) check(value any) *Violation {
	if value == nil {
		return s.checkNull()
	}
	if v := s.checkOwn(value); v != nil {
		return v
	}
	for _, member := range s.allOf {
		if v := member.check(value); v != nil {
			return v
		}
	}
	if s.union != nil {
		return s.union.check(value)
	}
	return nil
}

func (s *Schema) checkText(text string) *Violation {
	for _, member := range s.allOf {
		if v := member.checkText(text); v != nil {
			return v
		}
	}
	switch s.kind {
	case "string":
		return s.checkString(text)
	case "integer", "number":
		return s.checkNumber(text)
	case "boolean":
		if text != "true" && text != "false" {
			return s.wrongType()
		}
		return s.checkEnum(text == "true")
	}
	return nil
}

// Value returns what Check is to be given for the text of a parameter: the
// text itself where it is not of the scalar type.
func (s *Schema) Value(text string) any {
	switch s.Kind() {
	case "integer", "number":
		return json.Number(text)
	case "boolean":
		if text == "true" || text == "false" {
			return text == "true"
		}
	}
	return text
}

// Kind returns the type of the values; "" where any value will do, or one of
// several types.
func (s *Schema) Kind() string {
	if s.kind == "" && len(s.allOf) > 0 {
		return s.allOf[0].Kind()
	}
	return s.kind
}

// IsScalar reports whether the values are strings, numbers or booleans.
func (s *Schema) IsScalar() bool { return isScalar(s.Kind()) }

// Items returns the schema of an array's items, or nil.
func (s *Schema) Items() *Schema { return s.items }

// Properties returns the properties of an object, by name.
func (s *Schema) Properties() map[string]*Schema { return s.properties }

// HasOthers reports whether objects may have properties without a name in the
// schema, which the generated code keeps.
func (s *Schema) HasOthers() bool { return s.additional != nil }

// Nullable reports whether the value may be null.
func (s *Schema) Nullable() bool { return s.nullable }

// IsComposed reports whether there is more than one schema for the value.
func (s *Schema) IsComposed() bool { return s.union != nil || len(s.allOf) > 0 }

// Format returns the format of a string or number, or "".
func (s *Schema) Format() string {
	if s.kind == "" && len(s.allOf) > 0 {
		return s.allOf[0].Format()
	}
	return s.formatName
}

func (s *Schema) wrongType() *Violation { return &Violation{Message: s.wrong} }

func (s *Schema) checkNull() *Violation {
	if !s.nullable {
		if s.kind == "" && len(s.allOf) > 0 {
			return s.allOf[0].checkNull()
		}
		return s.wrongType()
	}
	return s.checkEnum(nil)
}

// checkOwn checks all that does not need another schema for the same value.
func (s *Schema) checkOwn(value any) *Violation {
	switch s.kind {
	case "string":
		if text, ok := value.(string); ok {
			return s.checkString(text)
		}
	case "integer", "number":
		if number, ok := value.(json.Number); ok {
			return s.checkNumber(string(number))
		}
	case "boolean":
		if _, ok := value.(bool); ok {
			return s.checkEnum(value)
		}
	case "array":
		if array, ok := value.([]any); ok {
			return s.checkArray(array)
		}
	case "object":
		if object, ok := value.(map[string]any); ok {
			return s.checkObject(object)
		}
	default:
		if v := s.checkEnum(value); v != nil || s.union != nil || len(s.allOf) > 0 {
			return v
		}
		return checkFree(value)
	}
	return s.wrongType()
}

func (s *Schema) checkString(text string) *Violation {
	if s.enum != nil && !s.enum.hasText(text) {
		return &Violation{Message: s.enum.says}
	}
	if !utf8.ValidString(text) { // in a parameter: JSON is refused before
		return &Violation{Message: "must be valid UTF-8"}
	}
	if s.format != nil && !s.format.holds(text) {
		return &Violation{Message: s.format.says}
	}
	return firstBroken(s.texts, text)
}

func (s *Schema) checkNumber(text string) *Violation {
	if s.kind == "integer" {
		whole, ok := parseInteger(text)
		if !ok {
			return s.wrongType()
		}
		if s.enum != nil && !s.enum.hasNumber(float64(whole)) {
			return &Violation{Message: s.enum.says}
		}
		return firstBroken(s.wholes, whole)
	}
	if !isJSONNumber(text) {
		return s.wrongType()
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return &Violation{Message: tooLarge}
	}
	if s.enum != nil && !s.enum.hasNumber(number) {
		return &Violation{Message: s.enum.says}
	}
	return firstBroken(s.numbers, number)
}

func (s *Schema) checkEnum(value any) *Violation {
	if s.enum != nil && !s.enum.has(value) {
		return &Violation{Message: s.enum.says}
	}
	return nil
}

func (s *Schema) checkArray(array []any) *Violation {
	if v := s.checkEnum(array); v != nil {
		return v
	}
	if v := firstBroken(s.arrays, array); v != nil {
		return v
	}
	for i, item := range array {
		if v := s.items.check(item); v != nil {
			return v.at(i)
		}
	}
	return nil
}

func (s *Schema) checkObject(object map[string]any) *Violation {
	for _, name := range s.required {
		if _, ok := object[name]; !ok {
			return (&Violation{Message: "is required"}).at(name)
		}
	}
	known := 0
	for _, name := range s.names {
		value, ok := object[name]
		if !ok {
			continue
		}
		known++
		property := s.properties[name]
		if property.readOnly {
			return (&Violation{Message: "is set by the service and must not be sent"}).at(name)
		}
		if v := property.check(value); v != nil {
			return v.at(name)
		}
	}
	if v := firstBroken(s.objects, object); v != nil {
		return v
	}
	if known < len(object) {
		if v := s.checkOthers(object); v != nil {
			return v
		}
	}
	return s.checkEnum(object)
}

// checkOthers checks the properties that the schema does not name.
func (s *Schema) checkOthers(object map[string]any) *Violation {
	if !s.closed && s.additional == nil {
		return nil
	}
	for _, name := range sortedKeys(object) {
		if s.properties[name] != nil {
			continue
		}
		if s.closed {
			return (&Violation{Message: "is not among the properties that are allowed here"}).at(short(name))
		}
		if v := s.additional.check(object[name]); v != nil {
			return v.at(short(name))
		}
	}
	return nil
}

// checkFree checks a value that may be anything. Its numbers reach the service
// as float64s.
func checkFree(value any) *Violation {
	switch value := value.(type) {
	case json.Number:
		if _, err := strconv.ParseFloat(string(value), 64); err != nil {
			return &Violation{Message: tooLarge}
		}
	case []any:
		for i, item := range value {
			if v := checkFree(item); v != nil {
				return v.at(i)
			}
		}
	case map[string]any:
		for _, name := range sortedKeys(value) {
			if v := checkFree(value[name]); v != nil {
				return v.at(short(name))
			}
		}
	}
	return nil
}

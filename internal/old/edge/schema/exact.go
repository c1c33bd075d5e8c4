package schema

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

// exact returns the rule of s that a value breaks although kin-openapi allows it:
//
//   - kin-openapi compares numbers as float64s, and rounds in multipleOf. Beyond 2^53
//     a float64 stands for several integers.
//   - It takes 7.0 and 1e2 for integers. In OpenAPI 3.0 they are none.
//   - In uniqueItems 1 and 1.0 are different to it.
//   - It does not look into a value that may be anything.
//   - It takes null for a property that is readOnly.
func (s *Schema) exact(d *openapi3.Schema, value any) *Violation {
	var v *Violation
	switch value := value.(type) {
	case nil:
		return nil // that it may be null was all there is to say
	case json.Number:
		v = exactNumber(d, string(value))
	case []any:
		v = s.exactItems(d, value)
	case map[string]any:
		v = s.exactProperties(d, value)
	}
	if v != nil {
		return v
	}
	for _, member := range d.AllOf {
		if v := s.exact(member.Value, value); v != nil {
			return v
		}
	}
	return s.exactUnion(d, value)
}

func exactNumber(d *openapi3.Schema, text string) *Violation {
	switch {
	case d.Type.Is("integer"):
		whole, ok := parseInteger(text)
		if !ok {
			return &Violation{Message: typeSays(d)}
		}
		if d.MultipleOf != nil && !isMultiple(new(big.Rat).SetInt64(whole), *d.MultipleOf) {
			return &Violation{Message: multipleSays(d)}
		}
	case d.Type.Is("number"):
		number, _ := strconv.ParseFloat(text, 64) // which kin-openapi has done
		if d.MultipleOf != nil && !isMultiple(decimal(number), *d.MultipleOf) {
			return &Violation{Message: multipleSays(d)}
		}
	case isFree(d):
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return &Violation{Message: tooLarge}
		}
	}
	return nil
}

func (s *Schema) exactItems(d *openapi3.Schema, array []any) *Violation {
	if !d.Type.Is("array") && !isFree(d) {
		return nil
	}
	of := items(d)
	for i, item := range array {
		if v := s.exact(of, item); v != nil {
			return v.in(ofItem(i))
		}
	}
	if d.UniqueItems && !areUnique(array) {
		return &Violation{Message: uniqueSays(d)}
	}
	return nil
}

// exactProperties names the first property by name, so that it is the same one
// every time.
func (s *Schema) exactProperties(d *openapi3.Schema, object map[string]any) (first *Violation) {
	firstName := ""
	for name, value := range object {
		of := property(d, name)
		if of == nil || first != nil && name > firstName {
			continue
		}
		v := s.exact(of, value)
		if of.ReadOnly {
			v = &Violation{Message: readOnlySays(of)}
		}
		if v != nil {
			first, firstName = v.in(ofProperty(name)), name
		}
	}
	return first
}

const tooLarge = "must be a number that 64 bits can hold (IEEE 754)"

// maxExact is the integer below which a float64 has every one exactly.
const maxExact = 1 << 53

// parseInteger reads an integer as JSON writes it: no sign but a minus, no
// leading zero, no fraction, no exponent; and within int64.
func parseInteger(text string) (int64, bool) {
	digits := text
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// isMultiple reports whether value is a multiple of step, both as the decimal
// numbers they were written as: 0.3 is one of 0.1, which it is not in binary.
func isMultiple(value *big.Rat, step float64) bool {
	return new(big.Rat).Quo(value, decimal(step)).IsInt()
}

// decimal returns f as the decimal number that it is written as.
func decimal(f float64) *big.Rat {
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return r
}

// areUnique reports whether no two items are one value in JSON.
func areUnique(array []any) bool {
	seen := make(map[string]bool, len(array))
	for _, item := range array {
		text, _ := json.Marshal(normal(item)) // it was JSON
		if seen[string(text)] {
			return false
		}
		seen[string(text)] = true
	}
	return true
}

// normal returns value with each number written in one way: 1, 1.0 and 1e0 are one
// number.
func normal(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, ok := parseInteger(string(value)); ok {
			return n
		}
		f, _ := strconv.ParseFloat(string(value), 64)
		if n := int64(f); float64(n) == f && math.Abs(f) < maxExact {
			return n
		}
		return f
	case []any:
		array := make([]any, len(value))
		for i, item := range value {
			array[i] = normal(item)
		}
		return array
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, property := range value {
			object[name] = normal(property)
		}
		return object
	}
	return value
}

package schema

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Violation is a rule of the document that a value breaks. It stays nil for
// every value that keeps them all.
type Violation struct {
	// Message follows the place: "must be at most 5 characters".
	Message string

	path []string // outermost first: ".when", "[0]"
}

// Property returns the property of an object at which the violation is, or "".
func (v *Violation) Property() string {
	if len(v.path) == 0 {
		return ""
	}
	return strings.TrimPrefix(v.path[0], ".")
}

// Place returns where the violation is as a person would write it, from the
// name of the outermost value on: "tags[2]", "[0].when"; "" where both are empty.
func (v *Violation) Place(root string) string {
	place := root + strings.Join(v.path, "")
	if root == "" {
		place = strings.TrimPrefix(place, ".")
	}
	return place
}

// in adds where the value that breaks the rule is in the value around it.
func (v *Violation) in(path ...string) *Violation {
	v.path = slices.Concat(path, v.path)
	return v
}

func ofItem(i int) string { return "[" + strconv.Itoa(i) + "]" }

func ofProperty(name string) string { return "." + short(name) }

// MaxEchoed bounds what of a client's own text a message repeats, in bytes.
const MaxEchoed = 64

// Echo returns a name of the client's as a message repeats it: not where it would fill
// the message.
func Echo(name string) string {
	if len(name) > MaxEchoed {
		return "a name of " + strconv.Itoa(len(name)) + " bytes"
	}
	return name
}

// short keeps a client's own property name from filling the message.
func short(name string) string {
	if len(name) > MaxEchoed {
		return "a property"
	}
	return name
}

// explain makes the client's sentence of an error of kin-openapi.
func (s *Schema) explain(err error, value any) *Violation {
	e, ok := errors.AsType[*openapi3.SchemaError](err)
	if !ok {
		return &Violation{Message: "is not as the document describes it"}
	}
	for e.SchemaField == "allOf" || e.SchemaField == "oneOf" && e.Schema.Discriminator != nil {
		member, ok := errors.AsType[*openapi3.SchemaError](e.Origin)
		if !ok {
			break
		}
		e = member
	}
	path, refused := follow(value, e.JSONPointer())
	return s.sentence(e, refused).in(path...)
}

// sentence names the rule that refused breaks.
func (s *Schema) sentence(e *openapi3.SchemaError, refused any) *Violation {
	switch e.SchemaField {
	case "oneOf", "anyOf":
		return s.unionSentence(e.Schema, refused)
	case "discriminator":
		return discriminatorSentence(e.Schema, refused)
	case "properties":
		return (&Violation{Message: "is not among the properties that are allowed here"}).in(unknownProperty(e.Schema, refused))
	case "type":
		if e.Origin != nil && (isFree(e.Schema) || e.Schema.Type.Is("number")) { // it is none that a float64 has room for
			return &Violation{Message: tooLarge}
		}
	}
	if says := keywords[e.SchemaField].says; says != nil {
		return &Violation{Message: says(e.Schema)}
	}
	return &Violation{Message: "is not as the document describes it"}
}

// unknownProperty returns the first property that a schema without others has not:
// kin-openapi names the object.
func unknownProperty(s *openapi3.Schema, object any) string {
	properties, _ := object.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if s.Properties[name] == nil {
			return ofProperty(name)
		}
	}
	return ""
}

// follow goes from value to the value at the pointer, in which kin-openapi does not
// tell an index from a name. It returns the way as a person writes it.
func follow(value any, pointer []string) (path []string, at any) {
	for _, step := range pointer {
		switch outer := value.(type) {
		case []any:
			path = append(path, "["+step+"]")
			if i, err := strconv.Atoi(step); err == nil && i < len(outer) {
				value = outer[i]
			}
		case map[string]any:
			path = append(path, ofProperty(step))
			value = outer[step]
		}
	}
	return path, value
}

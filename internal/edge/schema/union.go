package schema

import (
	"slices"
	"strings"
)

// union is oneOf or anyOf.
type union struct {
	members   []*Schema
	exactly   bool // one of them: oneOf
	says      string
	property  string // the discriminator's, or ""
	byValue   map[string]*Schema
	valueSays string
}

func (u *union) check(value any) *Violation {
	if u.property != "" {
		return u.checkDiscriminated(value)
	}
	matches := 0
	for _, member := range u.members {
		if member.check(value) == nil {
			matches++
		}
	}
	if matches == 0 || u.exactly && matches > 1 {
		return &Violation{Message: u.says}
	}
	return nil
}

func (u *union) checkDiscriminated(value any) *Violation {
	object, ok := value.(map[string]any)
	if !ok {
		return &Violation{Message: "must be an object"}
	}
	kind, ok := object[u.property]
	if !ok {
		return (&Violation{Message: "is required"}).at(u.property)
	}
	name, _ := kind.(string)
	member, ok := u.byValue[name]
	if !ok {
		return (&Violation{Message: u.valueSays}).at(u.property)
	}
	return member.check(value)
}

// alternatives names the members in a sentence: "a Cat or a Dog" would guess at
// articles.
func alternatives(names []string) string {
	names = slices.Clone(names)
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

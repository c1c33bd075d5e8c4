package schema

import (
	"math"
	"strconv"
)

// maxFew is how many values a parameter may have that are checked beforehand.
const maxFew = 1000

// checkFew checks, once and beforehand, every value that an enumeration or a range
// of integers leaves to a parameter. A request then pays for one look-up in place
// of the validator, which takes 4 of 19 allocations of a list and 7 of 23 of a
// filtered one.
func (s *Schema) checkFew() {
	s.valid = map[string]struct{}{}
	for _, text := range s.few() {
		if s.CheckText(text) == nil {
			s.valid[text] = struct{}{}
		}
	}
}

// few returns the texts of all values, or of most, where they are few.
func (s *Schema) few() (texts []string) {
	d := s.document
	if d.Type.Is("string") {
		for _, value := range d.Enum {
			if text, ok := value.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	}
	if !d.Type.Is("integer") || d.Min == nil || d.Max == nil || *d.Max-*d.Min > maxFew || max(math.Abs(*d.Min), math.Abs(*d.Max)) >= maxExact {
		return nil
	}
	for n := int64(*d.Min); float64(n) <= *d.Max; n++ {
		texts = append(texts, strconv.FormatInt(n, 10))
	}
	return texts
}

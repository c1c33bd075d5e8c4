package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Violation is a rule of the document that a value breaks. It stays nil for
// every value that keeps them all.
type Violation struct {
	// Message follows the place: "must be at most 5 characters".
	Message string

	path []string // innermost first: ".when", "[0]"
}

// at adds where, seen from one level further out, the violation is: the name of
// a property or the index of an item.
func (v *Violation) at(key any) *Violation {
	switch key := key.(type) {
	case int:
		v.path = append(v.path, "["+strconv.Itoa(key)+"]")
	case string:
		v.path = append(v.path, "."+key)
	}
	return v
}

// Property returns the property of an object parameter at which the violation
// is, or "".
func (v *Violation) Property() string {
	if len(v.path) == 0 {
		return ""
	}
	return strings.TrimPrefix(v.path[len(v.path)-1], ".")
}

// Place returns where the violation is as a person would write it, from the
// name of the outermost value on: "tags[2]", "[0].when"; "" where both are empty.
func (v *Violation) Place(root string) string {
	place := root
	for _, step := range slices.Backward(v.path) {
		place += step
	}
	if root == "" {
		place = strings.TrimPrefix(place, ".")
	}
	return place
}

// maxEchoed bounds what of a client's own text a message repeats, in bytes.
const maxEchoed = 64

// short keeps a client's own property name from filling the message.
func short(name string) string {
	if len(name) > maxEchoed {
		return "a property"
	}
	return name
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

package schema

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestEveryKeywordOfKinOpenAPIHasARow finds a keyword that a new version of
// kin-openapi reads, before a user does.
func TestEveryKeywordOfKinOpenAPIHasARow(t *testing.T) {
	var known []string
	for field := range reflect.TypeFor[openapi3.Schema]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "-" {
			known = append(known, name)
		}
	}
	if len(known) < 40 {
		t.Fatalf("keywords of kin-openapi: got %d, want all of them", len(known))
	}
	var rows []string
	for _, row := range keywords {
		if slices.Contains(rows, row.name) {
			t.Errorf("keyword %s: got two rows, want one", row.name)
		}
		rows = append(rows, row.name)
	}
	slices.Sort(known)
	slices.Sort(rows)
	if !slices.Equal(rows, known) {
		t.Errorf("keywords of the table: got %q, want those of kin-openapi, %q", rows, known)
	}
}

// TestEveryRowIsDecided holds every row to one of three: it is checked and has a
// sentence, it says nothing of a value, or it is refused.
func TestEveryRowIsDecided(t *testing.T) {
	// The keywords whose sentence is another's: bounds are said with what they
	// bound, and schemas say what is in them.
	silent := []string{"exclusiveMinimum", "exclusiveMaximum", "items", "properties", "allOf"}
	for _, row := range keywords {
		checked := row.built || row.text != nil || row.whole != nil || row.number != nil || row.array != nil || row.object != nil
		decided := 0
		for _, is := range []bool{checked, row.note, row.refused != ""} {
			if is {
				decided++
			}
		}
		if decided != 1 {
			t.Errorf("keyword %s: got %d of checked, note and refused, want one", row.name, decided)
		}
		if hasSentence := row.says != nil; hasSentence != (checked && !slices.Contains(silent, row.name)) {
			t.Errorf("keyword %s: got a sentence %t, want one exactly where it is checked", row.name, hasSentence)
		}
	}
}

func TestEveryFormatHasASentence(t *testing.T) {
	for name, f := range formats {
		if f.says == "" && name != "password" {
			t.Errorf("format %s: got no sentence, want one", name)
		}
	}
}

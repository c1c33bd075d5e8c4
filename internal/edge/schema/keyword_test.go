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
	rows = append(rows, only31...)
	slices.Sort(known)
	slices.Sort(rows)
	if !slices.Equal(rows, known) {
		t.Errorf("keywords of the table: got %q, want those of kin-openapi, %q", rows, known)
	}
}

// TestEveryRowIsDecided holds every row to one of three: it has a sentence, it is
// silent, or it is refused.
func TestEveryRowIsDecided(t *testing.T) {
	for _, row := range keywords {
		decided := 0
		for _, is := range []bool{row.says != nil, row.silent, row.refused != ""} {
			if is {
				decided++
			}
		}
		if decided != 1 {
			t.Errorf("keyword %s: got %d of a sentence, silent and refused, want one", row.name, decided)
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

package main

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
)

// firstEntry is the first of the list of changes.
const firstEntry = "- 1.0.0 (2026-11-21): the first version."

// replace changes the document's description, which must contain from.
func replace(d *openapi3.T, from, to string) { replaceIn(&d.Info.Description, from, to) }

// replaceInTable changes the table of codes, which must contain from.
func replaceInTable(d *openapi3.T, from, to string) { replaceIn(&d.Tags[0].Description, from, to) }

func replaceIn(description *string, from, to string) {
	if !strings.Contains(*description, from) {
		panic("the description does not contain " + from)
	}
	*description = strings.Replace(*description, from, to, 1)
}

func TestAReleasedDocumentChangesOnlyWithAnEntryInItsListOfChanges(t *testing.T) {
	grow := func(d *openapi3.T) {
		list := d.Paths.Value("/pets").Get
		list.AddParameter(openapi3.NewQueryParameter("name").WithSchema(openapi3.NewStringSchema()))
	}
	for name, c := range map[string]struct {
		change func(*openapi3.T)
		want   int
	}{
		"nothing":                      {func(*openapi3.T) {}, 0},
		"prose":                        {func(d *openapi3.T) { d.Paths.Value("/pets").Get.Description = "another" }, 0},
		"the text of the description":  {func(d *openapi3.T) { replace(d, "A catalogue", "The catalogue") }, 0},
		"a parameter without an entry": {grow, 1},
		"a parameter with an entry": {func(d *openapi3.T) {
			grow(d)
			replace(d, firstEntry, firstEntry+"\n- 2027-01-04: the parameter name.")
		}, 0},
		"an entry rewritten": {func(d *openapi3.T) {
			grow(d)
			replace(d, firstEntry, "- 1.0.0 (2026-11-21): the parameter name.")
		}, 1},
		"an entry wrapped otherwise": {func(d *openapi3.T) { replace(d, "the first version.", "the\n  first version.") }, 0},
		"the list removed":           {func(d *openapi3.T) { replace(d, "### Changes", "### News") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before, err := load("before", gen.Document)
			if err != nil {
				t.Fatal(err)
			}
			after, err := load("after", gen.Document)
			if err != nil {
				t.Fatal(err)
			}
			c.change(after)
			if got := unlisted(before, after); len(got) != c.want {
				t.Errorf("unlisted: got %q, want %d", got, c.want)
			}
		})
	}
}

package main

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/contract"
)

// unlisted returns the faults of the document's list of changes, held against a
// release. Where more than prose has changed, the list must have a new entry. It must
// keep every entry that clients have read.
func unlisted(before, after *openapi3.T) (found []string) {
	was, is := listed(before), listed(after)
	for _, entry := range was {
		if !slices.Contains(is, entry) {
			found = append(found, "the list of changes in the description no longer says: "+entry)
		}
	}
	isNew := func(entry string) bool { return !slices.Contains(was, entry) }
	if !reflect.DeepEqual(substance(before), substance(after)) && !slices.ContainsFunc(is, isNew) {
		found = append(found, "the document has changed and its description does not say so: add an entry below ### Changes")
	}
	return found
}

var changesSection = regexp.MustCompile(`(?ms)^### Changes\n(.*?)(?:^#|\z)`)

// listed returns the entries below "### Changes", each on one line.
func listed(d *openapi3.T) (entries []string) {
	section := changesSection.FindStringSubmatch(d.Info.Description)
	if section == nil {
		return nil
	}
	for _, entry := range strings.Split("\n"+section[1], "\n- ")[1:] {
		entries = append(entries, strings.Join(strings.Fields(entry), " "))
	}
	return entries
}

// substance returns the document without its prose, of which the table of error codes
// is none: clients switch on them.
func substance(d *openapi3.T) any {
	var all map[string]any
	if data, err := d.MarshalJSON(); err == nil {
		_ = json.Unmarshal(data, &all) // it was JSON a line ago
	}
	delete(all, "info")
	withoutProse(all, false)
	return []any{all, contract.Codes(d)}
}

// withoutProse removes the texts that only people read. The keys of a map of
// properties are names, whatever they look like.
func withoutProse(v any, names bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			withoutProse(e, false)
		}
	case map[string]any:
		if !names {
			maps.DeleteFunc(v, func(k string, _ any) bool {
				return slices.Contains([]string{"description", "summary", "example", "examples", "externalDocs"}, k)
			})
		}
		for k, e := range v {
			withoutProse(e, !names && k == "properties")
		}
	}
}

package edge

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"example.com/petstore/internal/old/edge/nearest"
	"example.com/petstore/internal/old/edge/schema"
)

const preferHeader = "Prefer"

// strictApplied is the Preference-Applied of a success (RFC 7240, section 3).
var strictApplied = []string{"handling=strict"}

// prefersStrict reports whether a request prefers that nothing of it is ignored:
// handling=strict (RFC 7240, section 4.4). Several lines are one list, of which the first
// handling counts. What is no preference is ignored. It leaves the header as a method
// may read it: handling=strict, or none.
func prefersStrict(h http.Header) bool {
	lines, sent := h[preferHeader]
	if !sent {
		return false
	}
	for _, p := range splitUnquoted(strings.Join(lines, ","), ',') {
		m := preference.FindStringSubmatch(strings.Trim(splitUnquoted(p, ';')[0], " \t")) // without its parameters
		if m == nil || !strings.EqualFold(m[1], "handling") {
			continue
		}
		if strings.Trim(m[2], `"`) == "strict" {
			h[preferHeader] = strictApplied
			return true
		}
		break
	}
	delete(h, preferHeader)
	return false
}

// preference is one preference without its parameters: a token, and a token or a quoted
// string as its value (RFC 7240, section 2).
var preference = regexp.MustCompile("^([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+|\"(?:[^\"\\\\]|\\\\.)*\"))?$")

// splitUnquoted splits text at a byte that is in no quoted string.
func splitUnquoted(text string, at byte) (parts []string) {
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == at && !quoted:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	return append(parts, text[start:])
}

// checkQuery returns the error of a query parameter that is none of known, for a client
// that prefers to hear of it.
func checkQuery(query url.Values, known []string) error {
	sent := make([]string, 0, len(query))
	for name := range query {
		if !slices.Contains(known, name) {
			sent = append(sent, name)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	name := slices.Min(sent)
	return invalidParameter(unknown(schema.Echo(name), "query parameter", name, known))
}

// unknownProperty returns the fault of the first property of a body that its schema does
// not know, or "".
func unknownProperty(body *schema.Schema, value any) string {
	for p := range body.Ignored(value) {
		return unknown(p.Place, "property", p.Name, p.Known())
	}
	return ""
}

// unknown is the sentence of a name that is not known at a place.
func unknown(place, kind, name string, known []string) string {
	if near, _ := nearest.Name(name, known); near != "" {
		return place + " is an unknown " + kind + "; the nearest known is " + near
	}
	return place + " is an unknown " + kind + "; none is known here"
}

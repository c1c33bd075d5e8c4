package files

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/old/pets"
)

// column is a property of a pet as files have it.
type column struct {
	name     string
	of       func(*pets.Pet) string
	bare     bool   // it has no quotes in JSON: a number or a boolean, and no text
	optional bool   // its column may be missing, and an empty value means none
	fallback string // the value of a pet that names none
}

// columns are all properties that files have, in the order in which they are
// written. The identifier is the first.
var columns = []column{
	{name: "id", of: func(p *pets.Pet) string { return strconv.FormatInt(p.ID, 10) }, bare: true},
	{name: "name", of: func(p *pets.Pet) string { return p.Name }},
	{name: "categoryId", of: func(p *pets.Pet) string { return strconv.FormatInt(p.CategoryID, 10) }, bare: true},
	{name: "status", of: func(p *pets.Pet) string { return string(p.Status) }, optional: true, fallback: string(pets.Available)},
}

const idColumn = "id"

// appendJSON appends a value of the column as a property of a JSON object. A text of
// another type than the column's becomes a string, which the document then refuses.
func (c column) appendJSON(b []byte, value string) ([]byte, error) {
	b = append(b, '"')
	b = append(b, c.name...)
	b = append(b, `":`...)
	if c.bare && isBare(value) {
		return append(b, value...), nil
	}
	return jsontext.AppendQuote(b, value)
}

func isBare(text string) bool {
	value := jsontext.Value(text)
	return strings.TrimSpace(text) == text && strings.ContainsRune("0tf", rune(value.Kind())) && value.IsValid()
}

// header is the first line of a CSV file.
type header struct {
	names  []string
	places []int // of each of columns among names, or -1
}

// readHeader reads it. Columns that the contract does not name are ignored, as
// properties of a body are.
func (f Reading) readHeader(names []string) (*header, error) {
	for i, name := range names {
		if name != "" && slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("the column %.64q is there twice", name)
		}
	}
	h := &header{names: slices.Clone(names)}
	var required, optional []string
	missing := ""
	for _, c := range columns {
		place := slices.Index(names, c.name)
		switch {
		case c.name == idColumn && !f.IDs:
			place = -1
		case c.optional:
			optional = append(optional, c.name)
		default:
			required = append(required, c.name)
			if place < 0 && missing == "" {
				missing = c.name
			}
		}
		h.places = append(h.places, place)
	}
	if missing != "" {
		return nil, fmt.Errorf("there is no column %s: the first line must name the columns %s and may name %s%s",
			missing, strings.Join(required, ", "), strings.Join(optional, ", "), separatorHint(names))
	}
	return h, nil
}

func separatorHint(names []string) string {
	if len(names) == 1 && strings.ContainsAny(names[0], ";\t") {
		return ", with commas between them"
	}
	return ""
}

var errNotUTF8 = errors.New("the row is not valid UTF-8")

// body makes the shortest body of the fields that creates their pet, and appends the
// identifier to it where there is one. size is that of the body.
func (h *header) body(b []byte, fields []string) (body []byte, size int, err error) {
	if len(fields) != len(h.names) {
		return nil, 0, fmt.Errorf("the row has %d fields, the first line %d", len(fields), len(h.names))
	}
	if !slices.ContainsFunc(fields, func(s string) bool { return !utf8.ValidString(s) }) {
		b = append(b[:0], '{')
		for i, c := range columns[1:] {
			if place := h.places[i+1]; place >= 0 {
				b = c.appendField(b, fields[place])
			}
		}
		size = len(bytes.TrimSuffix(b, []byte(","))) + len("}")
		if place := h.places[0]; place >= 0 {
			b = columns[0].appendField(b, fields[place])
		}
		return append(bytes.TrimSuffix(b, []byte(",")), '}'), size, nil
	}
	return nil, 0, errNotUTF8
}

// appendField appends the property of a field with a comma, or nothing where the
// pet is the same without it. An empty field is none, but for a name.
func (c column) appendField(b []byte, field string) []byte {
	if field == "" && (c.optional || c.bare) || c.optional && field == c.fallback {
		return b
	}
	b, _ = c.appendJSON(b, field) // it is valid UTF-8
	return append(b, ',')
}

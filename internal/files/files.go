// Package files reads and writes pets as CSV and NDJSON. CSV loses a carriage return
// before a line feed within a name.
package files

import (
	"bufio"
	"context"
	"encoding/csv"
	"io"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/pets"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// FormatOf returns the format for the extension of a file name, or "" if the
// extension is unknown.
func FormatOf(name string) Format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return CSV
	case ".ndjson", ".jsonl":
		return NDJSON
	}
	return ""
}

// record is a pet in a file. Its fields must be those of pets.Pet, or Export does
// not compile. Fields with omitzero are optional columns in CSV.
type record struct {
	ID         int64       `json:"id"`
	Name       string      `json:"name"`
	CategoryID int64       `json:"categoryId"`
	Status     pets.Status `json:"status,omitzero"`
}

// column is the CSV column for a field of record.
type column struct {
	name     string
	text     bool // a JSON string; the cells of other columns hold JSON
	optional bool
}

func columns() []column {
	var all []column
	for _, f := range reflect.VisibleFields(reflect.TypeFor[record]()) {
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		zero, _ := json.Marshal(reflect.Zero(f.Type).Interface())
		all = append(all, column{name: name, text: jsontext.Value(zero).Kind() == '"', optional: option == "omitzero"})
	}
	return all
}

// Export writes all pets of the store to w and calls step after each.
func Export(ctx context.Context, st pets.Store, w io.Writer, format Format, step func()) error {
	write, flush := ndjsonWriter(w)
	if format == CSV {
		write, flush = csvWriter(w)
	}
	for q := (pets.Query{Limit: 1000}); ; {
		page, err := st.Pets(ctx, q)
		if err != nil {
			return err
		}
		for _, p := range page.Pets {
			if err := write(record(p)); err != nil {
				return err
			}
			q.After = p.ID
			step()
		}
		if !page.More {
			return flush()
		}
	}
}

func ndjsonWriter(w io.Writer) (write func(record) error, flush func() error) {
	out := bufio.NewWriter(w)
	lines := jsontext.NewEncoder(out) // unlike encoding/json, it escapes only where required
	return func(r record) error { return json.MarshalEncode(lines, r) }, out.Flush
}

func csvWriter(w io.Writer) (write func(record) error, flush func() error) {
	out := csv.NewWriter(w)
	all := columns()
	fields := make([]string, len(all))
	for i, c := range all {
		fields[i] = c.name
	}
	_ = out.Write(fields) // flush returns its error
	write = func(r record) error {
		for i, c := range all {
			fields[i] = c.cell(reflect.ValueOf(r).Field(i))
		}
		return out.Write(fields)
	}
	return write, func() error {
		out.Flush()
		return out.Error()
	}
}

// cell returns the text of a string, or JSON. An optional zero value is left out.
func (c column) cell(v reflect.Value) string {
	if c.optional && v.IsZero() {
		return ""
	}
	value, _ := json.Marshal(v.Interface()) // fields of a pet can be encoded
	if c.text {
		value, _ = jsontext.AppendUnquote(nil, value)
	}
	return string(value)
}

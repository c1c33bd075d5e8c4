package files

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/pets"
)

// Writer writes pets with their identifiers. Reading reads them back as they were,
// name by name and code point by code point.
type Writer struct {
	out    *bufio.Writer
	encode func([]byte, pets.Pet) []byte
	row    []byte
}

// NewWriter returns a writer of that format. A file of no pets is a CSV header,
// or empty.
func NewWriter(w io.Writer, format Format) (*Writer, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	if format == NDJSON {
		return &Writer{out: out, encode: appendJSON}, nil
	}
	_, err := out.WriteString("id,name,categoryId,status\n")
	return &Writer{out: out, encode: appendCSV}, err
}

// Write writes one pet, sooner or later.
func (w *Writer) Write(p pets.Pet) error {
	w.row = w.encode(w.row[:0], p)
	_, err := w.out.Write(w.row)
	return err
}

// Flush writes the bytes that are held back.
func (w *Writer) Flush() error { return w.out.Flush() }

func appendJSON(b []byte, p pets.Pet) []byte {
	b = append(b, `{"id":`...)
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, `,"name":`...)
	b, _ = jsontext.AppendQuote(b, p.Name) // a stored name is valid UTF-8
	b = append(b, `,"categoryId":`...)
	b = strconv.AppendInt(b, p.CategoryID, 10)
	b = append(b, `,"status":"`...)
	b = append(b, p.Status...)
	return append(b, "\"}\n"...)
}

// appendCSV quotes names that need it, and names that other programs might trim. A
// name that looks like a formula stays as it is: it is data.
func appendCSV(b []byte, p pets.Pet) []byte {
	b = strconv.AppendInt(b, p.ID, 10)
	b = append(b, ',')
	if strings.ContainsAny(p.Name, "\",\r\n") || strings.TrimSpace(p.Name) != p.Name {
		b = append(b, '"')
		b = append(b, strings.ReplaceAll(p.Name, `"`, `""`)...)
		b = append(b, '"')
	} else {
		b = append(b, p.Name...)
	}
	b = append(b, ',')
	b = strconv.AppendInt(b, p.CategoryID, 10)
	b = append(b, ',')
	b = append(b, p.Status...)
	return append(b, '\n')
}

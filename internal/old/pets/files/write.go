package files

import (
	"bufio"
	"io"
	"strings"

	"example.com/petstore/internal/old/pets"
)

// Writer writes pets with their identifiers. Reading reads them back as they were,
// name by name and code point by code point.
type Writer struct {
	out    *bufio.Writer
	encode Encode // with the end of the line
	row    []byte
}

// Encode appends a pet to b.
type Encode func(b []byte, p *pets.Pet) []byte

// NewWriter returns a writer of that format; json encodes a pet for NDJSON. A file of
// no pets is a CSV header, or empty.
func NewWriter(w io.Writer, format Format, json Encode) (*Writer, error) {
	out := bufio.NewWriterSize(w, 64<<10)
	if format == NDJSON {
		return &Writer{out: out, encode: func(b []byte, p *pets.Pet) []byte { return append(json(b, p), '\n') }}, nil
	}
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	_, err := out.WriteString(strings.Join(names, ",") + "\n")
	return &Writer{out: out, encode: appendCSV}, err
}

// Write writes one pet, sooner or later.
func (w *Writer) Write(p pets.Pet) error {
	w.row = w.encode(w.row[:0], &p)
	_, err := w.out.Write(w.row)
	return err
}

// Flush writes the bytes that are held back.
func (w *Writer) Flush() error { return w.out.Flush() }

// appendCSV quotes texts that need it, and texts that other programs might trim. A
// name that looks like a formula stays as it is: it is data.
func appendCSV(b []byte, p *pets.Pet) []byte {
	for i, c := range columns {
		if i > 0 {
			b = append(b, ',')
		}
		value := c.of(p)
		if strings.ContainsAny(value, "\",\r\n") || strings.TrimSpace(value) != value {
			value = quoteCSV(value)
		}
		b = append(b, value...)
	}
	return append(b, '\n')
}

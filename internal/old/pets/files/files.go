// Package files reads and writes files of pets: CSV (RFC 4180) whose first line names
// the columns, and NDJSON, an object a line. It imports files into a store and
// exports a store to files. Each row becomes the body of a request that creates its
// pet, and the service's own code reads the body (Body). So a row is accepted exactly
// where POST /v1/pets accepts it. It knows no store in particular and nothing of
// HTTP.
package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/old/pets"
)

// Format is how a file holds pets. The zero value has Read look at the file.
type Format string

// The formats.
const (
	CSV    Format = "csv"
	NDJSON Format = "ndjson"
)

// FormatOf returns the format that the ending of a file's name tells, or "".
func FormatOf(name string) Format {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".csv":
		return CSV
	case ".ndjson", ".jsonl":
		return NDJSON
	}
	return ""
}

// Body is how the service reads the body of a request that creates a pet.
type Body struct {
	// Max is the greatest size of a body, in bytes.
	Max int

	// Read returns the properties of a body, and the pet that it creates. The error
	// is a sentence to a client, in which whole names the body as a whole.
	Read func(text []byte, whole string) (properties map[string]any, pet pets.NewPet, err error)
}

// slack is the room in bytes that the row of a pet may take beyond a body: for the
// identifier, and for what the client did not have to send.
const slack = 64

// Row is one row of a file.
type Row struct {
	Line int   // on which it begins, from 1
	ID   int64 // 0 where identifiers are not asked for
	Pet  pets.NewPet
	Err  error // why the service would not accept it; ID and Pet are then without meaning

	// Raw is the text of a row that is not acceptable, without its line end; of
	// one that is too large, the beginning.
	Raw string
}

// rowReader reads the rows of a file in one format, each as the body that creates its
// pet. The fault is that of the row, and err that of the file, or io.EOF.
type rowReader interface {
	next() (body []byte, line int, fault, err error)
	raw() string               // the text of the row that next returned last
	explain(fault error) error // adds to the fault of that row's body, if there is one
}

// Reading says how a file is read.
type Reading struct {
	Format Format
	IDs    bool // whether rows must have identifiers, which ascend; otherwise they are ignored
	Body   Body
}

// Rows returns the rows of r, acceptable or not. An error means that the file as a
// whole cannot be read. The row beside the error has the line, or 0 where the fault
// has none.
func (f Reading) Rows(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in := bufio.NewReaderSize(r, 2*(f.Body.Max+slack))
		format, err := begin(in, f.Format)
		if err != nil {
			yield(Row{}, err)
			return
		}
		last := int64(0)
		rows := f.ndjson(in)
		if format == CSV {
			var line int
			if rows, line, err = f.csv(in); err != nil {
				yield(Row{Line: line}, err)
				return
			}
		}
		for {
			body, line, fault, err := rows.next()
			switch {
			case errors.Is(err, io.EOF):
				return
			case err != nil:
				yield(Row{Line: line}, err)
				return
			}
			row := Row{Line: line, Err: fault}
			if errors.Is(fault, errTooLong) {
				row.Err = fmt.Errorf("the row is larger than %d bytes", f.Body.Max)
			} else if fault == nil {
				f.read(&row, body, last)
				row.Err = rows.explain(row.Err)
			}
			if row.Err == nil {
				last = row.ID
			} else {
				row.Raw = rows.raw()
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// begin skips a byte order mark and finds out the format.
func begin(in *bufio.Reader, format Format) (Format, error) {
	head, err := in.Peek(in.Size())
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		head = head[3:]
		_, _ = in.Discard(3) // they are there
	}
	text := bytes.TrimSpace(head)
	switch {
	case format == NDJSON:
		return NDJSON, nil
	case len(text) == 0 && format == "":
		return "", errors.New("the file is empty")
	case format == "" && text[0] == '[':
		return "", errors.New("the file is a JSON array; write one object a line instead, without brackets and commas between them")
	case format == "" && text[0] == '{':
		return NDJSON, nil
	case !isTextLine(text):
		return "", errors.New("the file is neither CSV nor NDJSON; save the table as one of them, in UTF-8")
	}
	return CSV, nil
}

// isTextLine reports whether the first line of text may name columns. Those of
// spreadsheets, archives, databases and UTF-16 do not.
func isTextLine(text []byte) bool {
	line, _, whole := bytes.Cut(text, []byte("\n"))
	isControl := func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' }
	return bytes.IndexFunc(line, isControl) < 0 && (utf8.Valid(line) || !whole && len(line) > slack)
}

// read makes a row of the body that creates its pet.
func (f Reading) read(row *Row, body []byte, last int64) {
	properties, pet, err := f.Body.Read(body, "the row")
	if err == nil && f.IDs {
		row.ID, err = identifier(properties, last)
	}
	row.Pet, row.Err = pet, err
}

// identifier returns the id among the properties of a row, which must be greater than
// the last.
func identifier(properties map[string]any, last int64) (int64, error) {
	value, ok := properties[idColumn]
	if !ok {
		return 0, errors.New("id is required")
	}
	number, _ := value.(json.Number)
	id, err := number.Int64()
	if err != nil {
		return 0, fmt.Errorf("id must be an integer between 1 and %d", int64(pets.MaxID))
	}
	return id, pets.CheckNextID(id, last)
}

var errTooLong = errors.New("too long") // Rows says how long it may be

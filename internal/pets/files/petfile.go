// Package files reads and writes files of pets: CSV (RFC 4180) whose first line
// names the columns, and NDJSON, an object a line. It imports files into a store and
// exports a store to files. It accepts a row exactly where POST /v1/pets accepts the
// same values, which a test compares. It knows no store in particular and nothing of
// HTTP.
package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/pets"
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

// maxBody is the greatest body of a request in bytes, as the document has it. slack
// is the room that the row of a pet may take beyond it: for the identifier, and for a
// status that the client did not have to send.
const (
	maxBody = 64 << 10
	slack   = 64
)

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

// rowReader reads the rows of a file in one format.
type rowReader interface {
	next() (Row, error)
	raw() string // the text of the row that next returned last
}

// Reading says how a file is read.
type Reading struct {
	Format Format
	IDs    bool // whether rows must have identifiers, which ascend; otherwise they are ignored
}

// Rows returns the rows of r, acceptable or not. An error means that the file as a
// whole cannot be read. The row beside the error has the line, or 0 where the fault
// has none.
func (f Reading) Rows(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		in := bufio.NewReaderSize(r, 2*maxBody)
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
			row, err := rows.next()
			if err == io.EOF {
				return
			}
			if err == nil && row.Err == nil {
				row.Err = f.check(&row, last)
			}
			if err == nil && row.Err == nil {
				last = row.ID
			} else {
				row.Raw = rows.raw()
			}
			if !yield(row, err) || err != nil {
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
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		head = head[3:]
		_, _ = in.Discard(3) // they are there
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		return "", errors.New("the file is in UTF-16; save it as UTF-8")
	}
	for magic, text := range foreign {
		if bytes.HasPrefix(head, []byte(magic)) {
			return "", errors.New(text)
		}
	}
	text := bytes.TrimSpace(head)
	switch {
	case format != "":
		return format, nil
	case len(text) == 0:
		return "", errors.New("the file is empty")
	case text[0] == '[':
		return "", errors.New("the file is a JSON array; write one object a line instead, without brackets and commas between them")
	case text[0] == '{':
		return NDJSON, nil
	}
	return CSV, nil
}

// foreign has the beginnings of files that are no files of pets, each with a sentence
// that says what to do.
var foreign = map[string]string{
	"PK\x03\x04":          "the file is a spreadsheet or a ZIP archive; save the table as CSV, in UTF-8",
	"\xd0\xcf\x11\xe0":    "the file is a spreadsheet of an old kind; save the table as CSV, in UTF-8",
	"%PDF":                "the file is a PDF; save the table as CSV, in UTF-8",
	"(\xb5/\xfd":          "the file is compressed by zstd; decompress it, or use gzip",
	"\xfd7zXZ\x00":        "the file is compressed by xz; decompress it, or use gzip",
	"BZh":                 "the file is compressed by bzip2; decompress it, or use gzip",
	"SQLite format 3\x00": "the file is an SQLite database; petstore restore takes those of petstore backup",
}

// check fills in the defaults and refuses a row that the service would refuse.
func (f Reading) check(row *Row, last int64) error {
	row.Pet = row.Pet.WithDefaults()
	if err := row.Pet.Validate(); err != nil {
		return err
	}
	if bodySize(row.Pet) > maxBody {
		return errTooLong
	}
	if f.IDs {
		return pets.CheckNextID(row.ID, last)
	}
	return nil
}

var errTooLong = fmt.Errorf("the row is larger than %d bytes", maxBody)

// bodySize returns the size of the shortest body that would create p, or 0
// where that is certainly small enough.
func bodySize(p pets.NewPet) int {
	if 6*len(p.Name)+slack < maxBody { // six bytes are the most that JSON makes of one
		return 0
	}
	quoted, _ := jsontext.AppendQuote(nil, p.Name) // which is valid UTF-8
	size := len(`{"name":,"categoryId":}`) + len(quoted) + len(strconv.FormatInt(p.CategoryID, 10))
	if p.Status != pets.Available {
		size += len(`,"status":""`) + len(p.Status)
	}
	return size
}

// The faults of a row in either format, in the service's own words.
var (
	errNoName     = errors.New("name is required")
	errNoCategory = errors.New("categoryId is required")
	errCategory   = errors.New("categoryId must be an integer between -9223372036854775808 and 9223372036854775807")
	errStatus     = errors.New("status must be one of available, pending, sold")
	errNotUTF8    = errors.New("the row is not valid UTF-8")
	errNoID       = errors.New("id is required")
	errID         = fmt.Errorf("id must be an integer between 1 and %d", int64(pets.MaxID))
)

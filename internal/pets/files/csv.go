package files

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/petstore/internal/pets"
)

// csvReader reads records below a header. An empty line is no row.
type csvReader struct {
	records *recordReader
	columns columns
}

// csv reads the header. Its error is a fault of the file, in that line.
func (f Reading) csv(in *bufio.Reader) (rows rowReader, line int, err error) {
	records := &recordReader{in: in, line: 1}
	header, err := records.next()
	for err == nil && header.blank() {
		header, err = records.next()
	}
	if errors.Is(err, io.EOF) {
		return nil, 0, errors.New("the file is empty; its first line must name the columns, such as name,categoryId,status")
	}
	if err == nil {
		err = header.fault
	}
	if err != nil {
		return nil, header.line, err
	}
	columns, err := f.columnsOf(header.fields)
	if err != nil {
		return nil, header.line, err
	}
	return &csvReader{records, columns}, 0, nil
}

func (c *csvReader) raw() string { return strings.TrimRight(string(c.records.raw), "\r\n") }

func (c *csvReader) next() (Row, error) {
	for {
		r, err := c.records.next()
		switch {
		case err != nil:
			return Row{Line: c.records.line}, err
		case r.fault != nil:
			return Row{Line: r.line, Err: r.fault}, nil
		case !r.blank():
			row, err := c.columns.read(r.fields)
			row.Line, row.Err = r.line, err
			return row, nil
		}
	}
}

// columns are the places of the columns, -1 for columns that are not there.
type columns struct{ name, category, status, id, count int }

// columnsOf reads the header. Columns that the contract does not name are ignored, as
// properties of a body are.
func (f Reading) columnsOf(header []string) (columns, error) {
	for i, name := range header {
		if name != "" && slices.Contains(header[:i], name) {
			return columns{}, fmt.Errorf("the column %.*q is there twice", maxEchoed, name)
		}
	}
	required := []string{"name", "categoryId"}
	if f.IDs {
		required = append([]string{"id"}, required...)
	}
	for _, name := range required {
		if !slices.Contains(header, name) {
			return columns{}, fmt.Errorf("there is no column %s: the first line must name the columns %s and may name status%s", name, strings.Join(required, ", "), separatorHint(header))
		}
	}
	c := columns{
		name:     slices.Index(header, "name"),
		category: slices.Index(header, "categoryId"),
		status:   slices.Index(header, "status"),
		id:       -1,
		count:    len(header),
	}
	if f.IDs {
		c.id = slices.Index(header, "id")
	}
	return c, nil
}

func separatorHint(header []string) string {
	if len(header) == 1 && strings.ContainsAny(header[0], ";\t") {
		return ", with commas between them"
	}
	return ""
}

// read makes a pet of the fields. An empty status is none; an empty name is a
// name, as it is in a body.
func (c columns) read(fields []string) (row Row, err error) {
	if len(fields) != c.count {
		return row, fmt.Errorf("the row has %d fields, the first line %d", len(fields), c.count)
	}
	for _, f := range fields {
		if !utf8.ValidString(f) {
			return row, errNotUTF8
		}
	}
	row.Pet.Name = fields[c.name]
	if fields[c.category] == "" {
		return row, errNoCategory
	}
	var ok bool
	if row.Pet.CategoryID, ok = integer(fields[c.category]); !ok {
		return row, errCategory
	}
	if c.status >= 0 && fields[c.status] != "" {
		if row.Pet.Status = pets.Status(fields[c.status]); !row.Pet.Status.Valid() {
			return row, errStatus
		}
	}
	if c.id < 0 {
		return row, nil
	}
	if fields[c.id] == "" {
		return row, errNoID
	}
	if row.ID, ok = integer(fields[c.id]); !ok {
		return row, errID
	}
	return row, nil
}

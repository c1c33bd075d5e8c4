package files

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// csv reads the header and returns a rowReader that converts each record to a JSON
// object.
func (o Options) csv(in io.Reader) (rowReader, error) {
	bounded := &boundedReader{in: in, o: o}
	r := csv.NewReader(bounded)
	names, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	known, err := o.header(names)
	if err != nil {
		return nil, err
	}
	return func() (row Row, body []byte, err error) {
		bounded.n = 0
		fields, err := r.Read()
		if e, ok := errors.AsType[*csv.ParseError](err); ok {
			return Row{Line: e.StartLine, Err: e.Err}, nil, nil
		}
		if err != nil {
			return Row{}, nil, err
		}
		row.Line, _ = r.FieldPos(0)
		body, row.Err = object(known, fields)
		return row, body, nil
	}, nil
}

// header returns the columns in file order. Ignored columns have no name.
func (o Options) header(names []string) ([]column, error) {
	known := make([]column, len(names))
	for _, c := range columns() {
		place := slices.Index(names, c.name)
		switch {
		case c.name == "id" && !o.IDs:
		case place >= 0 && slices.Contains(names[place+1:], c.name):
			return nil, fmt.Errorf("the first line names the column %s twice", c.name)
		case place >= 0:
			known[place] = c
		case !c.optional:
			return nil, fmt.Errorf("the header has no column %s; the first line must name the columns, such as name,categoryId,status", c.name)
		}
	}
	return known, nil
}

// object returns the fields of a record as a JSON object. Empty fields are
// omitted, except required text.
func object(columns []column, fields []string) (body []byte, err error) {
	body = append(body, '{')
	for i, c := range columns {
		if c.name == "" || fields[i] == "" && (c.optional || !c.text) {
			continue
		}
		if len(body) > 1 {
			body = append(body, ',')
		}
		body = append(body, `"`+c.name+`":`...)
		value := jsontext.Value(fields[i])
		if !c.text && value.IsValid() && value.Kind() != 'n' {
			body = append(body, value...)
		} else if body, err = jsontext.AppendQuote(body, fields[i]); err != nil {
			return nil, errors.New("the row is not valid UTF-8")
		}
	}
	return append(body, '}'), nil
}

// boundedReader fails if a record is much larger than MaxBody, for example because
// a quote is not closed.
type boundedReader struct {
	in io.Reader
	o  Options
	n  int // bytes read since the last record
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.n > 4*b.o.MaxBody {
		return 0, b.o.tooLarge()
	}
	n, err := b.in.Read(p)
	b.n += n
	return n, err
}

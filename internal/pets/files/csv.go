package files

import (
	"bufio"
	"errors"
	"io"
)

// csvReader reads records below a header. An empty line is no row.
type csvReader struct {
	records *recordReader
	header  *header
	limit   int // of a body
	text    []byte
}

// csv reads the header. Its error is a fault of the file, in that line.
func (f Reading) csv(in *bufio.Reader) (rows rowReader, line int, err error) {
	records := &recordReader{in: in, limit: f.Body.Max + slack, line: 1}
	line, err = records.next()
	for err == nil && records.isBlank() {
		line, err = records.next()
	}
	if errors.Is(err, io.EOF) {
		return nil, 0, errors.New("the file is empty; its first line must name the columns, such as name,categoryId,status")
	}
	if err != nil {
		return nil, line, err
	}
	names, err := records.fields()
	if err != nil {
		return nil, line, err
	}
	header, err := f.readHeader(names)
	return &csvReader{records: records, header: header, limit: f.Body.Max}, line, err
}

func (c *csvReader) raw() string { return c.records.raw() }

func (c *csvReader) explain(fault error) error { return fault }

func (c *csvReader) next() (body []byte, line int, err error) {
	for {
		line, err := c.records.next()
		if err != nil {
			return nil, line, err
		}
		if c.records.isBlank() {
			continue
		}
		fields, err := c.records.fields()
		if err != nil {
			return nil, line, rowError{err}
		}
		size := 0
		if c.text, size, err = c.header.body(c.text, fields); err != nil {
			return nil, line, rowError{err}
		}
		if size > c.limit {
			return nil, line, rowError{errTooLong}
		}
		return c.text, line, nil
	}
}

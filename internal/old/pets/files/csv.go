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
	line, err = records.nextFull()
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

func (c *csvReader) next() (body []byte, line int, fault, err error) {
	line, err = c.records.nextFull()
	if err != nil {
		return nil, line, nil, err
	}
	fields, fault := c.records.fields()
	if fault != nil {
		return nil, line, fault, nil
	}
	size := 0
	c.text, size, fault = c.header.body(c.text, fields)
	if fault == nil && size > c.limit {
		fault = errTooLong
	}
	return c.text, line, fault, nil
}

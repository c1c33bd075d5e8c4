package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ndjsonReader reads a body a line. Lines of white space are no rows.
type ndjsonReader struct {
	in    *bufio.Reader
	limit int // of a line
	line  int
	text  []byte
}

func (f Reading) ndjson(in *bufio.Reader) rowReader {
	limit := f.Body.Max
	if f.IDs {
		limit += slack
	}
	return &ndjsonReader{in: in, limit: limit}
}

func (r *ndjsonReader) raw() string { return string(r.text) }

func (r *ndjsonReader) next() (body []byte, line int, fault, err error) {
	for {
		r.line++
		r.text, err = readLine(r.in, r.limit)
		switch {
		case errors.Is(err, errTooLong):
			return nil, r.line, err, nil
		case err != nil:
			return nil, r.line, nil, err
		case len(bytes.TrimSpace(r.text)) > 0:
			return r.text, r.line, nil, nil
		}
	}
}

// explain adds a hint to the fault of a row that continues on the next line.
func (r *ndjsonReader) explain(fault error) error {
	text := bytes.TrimSpace(r.text)
	if fault != nil && text[0] == '{' && text[len(text)-1] != '}' {
		return fmt.Errorf("%w; an object must stand on one line", fault)
	}
	return fault
}

// readLine returns the next line without its end. It returns the beginning of a line
// that is longer than limit, with errTooLong.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	text, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		text = bytes.Clone(text[:limit])
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return text, errTooLong
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
		return nil, err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if len(text) > limit {
		return text[:limit], errTooLong
	}
	return text, nil
}

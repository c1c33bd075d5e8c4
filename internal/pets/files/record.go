package files

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// recordReader reads the records of CSV (RFC 4180). encoding/csv has no bound on the
// size of a record, keeps no text of it, and loses carriage returns in quotes.
type recordReader struct {
	in    *bufio.Reader
	limit int // of a record, in bytes
	line  int // that the next byte is on, from 1

	text   []byte // of the record, up to the limit
	size   int
	values []byte // of its fields, without quotes and commas
	ends   []int  // of each field in values
	fault  error  // the first of the record
}

// state is where the next byte of a record is.
type state int

const (
	fieldStart state = iota
	inField
	inQuotes
	afterQuote // its end, or the first of two
	skipping   // to the end of the line, behind a fault
)

var (
	errStrayQuote = errors.New(`a quote stands inside a field: put the whole field in quotes and write two, ""`)
	errAfterQuote = errors.New("a closing quote is followed by neither a comma nor the end of the line")
	errOpenQuote  = errors.New("a quote is opened and never closed")
	errStrayCR    = errors.New("a carriage return stands outside quotes; lines end in LF or CR LF")
)

// next reads the next record, and returns the line on which it begins. The error is
// io.EOF, or the file's.
func (r *recordReader) next() (line int, err error) {
	line = r.line
	r.text, r.size, r.values, r.ends, r.fault = r.text[:0], 0, r.values[:0], r.ends[:0], nil
	for s := fieldStart; ; {
		piece, err := r.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		r.text = append(r.text, piece[:min(len(piece), max(0, r.limit-len(r.text)))]...)
		if r.size += len(piece); r.size > r.limit {
			r.values, r.ends = r.values[:0], r.ends[:0] // nobody asks for them
		}
		s = r.parse(s, piece)
		atEnd := errors.Is(err, io.EOF)
		switch {
		case err == nil:
			r.line++
		case atEnd && r.size == 0:
			return line, io.EOF
		case atEnd && s == inQuotes:
			r.fault = errOpenQuote
		}
		if atEnd || err == nil && s != inQuotes {
			r.ends = append(r.ends, len(r.values))
			return line, nil
		}
	}
}

// parse parses a line or a part of one, and returns the state behind it.
func (r *recordReader) parse(s state, piece []byte) state {
	for i, b := range piece {
		switch {
		case s == inQuotes && b == '"':
			s = afterQuote
		case s == inQuotes:
			r.values = append(r.values, b)
		case s == skipping, b == '\n', b == '\r' && string(piece[i+1:]) == "\n":
		case b == '\r':
			s, r.fault = skipping, errStrayCR
		case b == ',':
			s = fieldStart
			r.ends = append(r.ends, len(r.values))
		case b == '"' && s == afterQuote:
			s = inQuotes
			r.values = append(r.values, b)
		case b == '"' && s == fieldStart:
			s = inQuotes
		case b == '"':
			s, r.fault = skipping, errStrayQuote
		case s == afterQuote:
			s, r.fault = skipping, errAfterQuote
		default:
			s = inField
			r.values = append(r.values, b)
		}
	}
	return s
}

// raw returns the text of the record without its line end.
func (r *recordReader) raw() string { return strings.TrimRight(string(r.text), "\r\n") }

// nextFull is next for a record that is not an empty line.
func (r *recordReader) nextFull() (line int, err error) {
	line, err = r.next()
	for err == nil && r.isBlank() {
		line, err = r.next()
	}
	return line, err
}

// isBlank reports whether the record is an empty line.
func (r *recordReader) isBlank() bool {
	return r.size <= len("\r\n") && r.raw() == "" && r.fault == nil
}

// fields returns the fields of the record.
func (r *recordReader) fields() ([]string, error) {
	switch {
	case r.size > r.limit:
		return nil, errTooLong
	case r.fault != nil:
		return nil, r.fault
	}
	values, begin := string(r.values), 0
	fields := make([]string, 0, len(r.ends))
	for _, end := range r.ends {
		fields = append(fields, values[begin:end])
		begin = end
	}
	return fields, nil
}

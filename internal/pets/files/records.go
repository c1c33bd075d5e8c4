package files

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
)

// recordReader reads the records of CSV as RFC 4180 has them. encoding/csv
// would not do: it makes \n of \r\n inside quotes, and so another name.
type recordReader struct {
	in   *bufio.Reader
	line int // that the next byte is on

	raw    []byte // the record in the file, up to its limit
	text   []byte // of the fields, one after the other
	ends   []int  // of each in text
	size   int    // of the record in the file, in bytes
	quoted bool   // whether any field is
	list   []string
}

// record is one record. A record with a fault has been read up to its end, as far as
// that can be found.
type record struct {
	line   int      // on which it begins
	fields []string // until the next record is read
	quoted bool
	fault  error
}

// blank reports whether the record is an empty line.
func (r record) blank() bool {
	return r.fault == nil && len(r.fields) == 1 && r.fields[0] == "" && !r.quoted
}

// The states between two bytes.
type state int

const (
	atStart    state = iota // of a field
	plain                   // in a field without quotes
	inQuotes                // in one with
	afterQuote              // behind a quote in it: its end, or the first of two
	skipping                // to the end of the line, behind a fault
	ended
)

var (
	errStrayQuote = errors.New(`a quote stands inside a field: put the whole field in quotes and write two, ""`)
	errAfterQuote = errors.New("a closing quote is followed by neither a comma nor the end of the line")
	errOpenQuote  = errors.New("a quote is opened and never closed")
	errStrayCR    = errors.New("a carriage return stands outside quotes; lines end in LF or CR LF")
)

// next returns the next record, or io.EOF.
func (r *recordReader) next() (record, error) {
	if line := r.simpleLine(); line != nil {
		return r.split(line), nil
	}
	return r.scan()
}

// simpleLine returns the next line with its end, or nil. It returns a line that is no
// more than the text between its commas. Most records are, and a scan of each byte
// takes four times as long.
func (r *recordReader) simpleLine() []byte {
	buffered, _ := r.in.Peek(r.in.Buffered()) // which reads nothing
	end := bytes.IndexByte(buffered, '\n')
	if end < 0 || end >= maxBody || bytes.IndexByte(buffered[:end], '"') >= 0 {
		return nil
	}
	if cr := bytes.IndexByte(buffered[:end], '\r'); cr >= 0 && cr != end-1 {
		return nil
	}
	return buffered[:end+1]
}

// split makes a record of a simple line.
func (r *recordReader) split(line []byte) record {
	rec := record{line: r.line}
	r.line++
	r.raw = append(r.raw[:0], line...)
	_, _ = r.in.Discard(len(line)) // it is there
	text := strings.TrimSuffix(string(r.raw[:len(r.raw)-1]), "\r")
	r.list = r.list[:0]
	for more := true; more; {
		var field string
		field, text, more = strings.Cut(text, ",")
		r.list = append(r.list, field)
	}
	rec.fields = r.list
	return rec
}

// scan returns the next record, or io.EOF.
func (r *recordReader) scan() (record, error) {
	rec := record{line: r.line}
	r.raw, r.text, r.ends, r.size, r.quoted = r.raw[:0], r.text[:0], r.ends[:0], 0, false
	for s := atStart; s != ended; {
		b, err := r.in.ReadByte()
		if errors.Is(err, io.EOF) && r.size > 0 {
			if s == inQuotes && rec.fault == nil {
				rec.fault = errOpenQuote
			}
			break
		}
		if err != nil {
			return rec, err
		}
		if r.size++; r.size <= maxBody+slack {
			r.raw = append(r.raw, b)
		} else if rec.fault == nil {
			rec.fault = errTooLong
		}
		if b == '\n' {
			r.line++
		}
		var fault error
		if s, fault = r.step(s, b); fault != nil && rec.fault == nil {
			rec.fault = fault
		}
		if rec.fault != nil {
			r.text, r.ends = r.text[:0], r.ends[:0] // so that a record without end takes no memory
		}
	}
	if rec.fault == nil {
		rec.fields, rec.quoted = r.fields(), r.quoted
	}
	return rec, nil
}

// step takes one byte.
func (r *recordReader) step(s state, b byte) (state, error) {
	if s == inQuotes {
		if b == '"' {
			return afterQuote, nil
		}
		r.text = append(r.text, b)
		return inQuotes, nil
	}
	switch b {
	case '\n':
		return ended, nil
	case '\r':
		if following, err := r.in.Peek(1); err == nil && following[0] == '\n' {
			return s, nil
		}
		return skipping, errStrayCR
	}
	switch {
	case s == skipping:
		return skipping, nil
	case b == ',':
		r.ends = append(r.ends, len(r.text))
		return atStart, nil
	case b == '"' && s == atStart:
		r.quoted = true
		return inQuotes, nil
	case b == '"' && s == afterQuote:
		r.text = append(r.text, b)
		return inQuotes, nil
	case b == '"':
		return skipping, errStrayQuote
	case s == afterQuote:
		return skipping, errAfterQuote
	}
	r.text = append(r.text, b)
	return plain, nil
}

// fields returns the fields, in one allocation.
func (r *recordReader) fields() []string {
	text, start := string(r.text), 0
	r.list = r.list[:0]
	for _, end := range append(r.ends, len(text)) {
		r.list = append(r.list, text[start:end])
		start = end
	}
	return r.list
}

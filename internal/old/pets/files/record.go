package files

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// recordReader finds the records of CSV (RFC 4180) in a file. encoding/csv reads
// each by itself: it does not bound the size of a record, nor does it keep its text.
type recordReader struct {
	in    *bufio.Reader
	limit int // of a record, in bytes
	line  int // that the next byte is on, from 1

	text  []byte // of the record, up to the limit
	size  int
	stray bool // a carriage return stands outside quotes, and not at the end of a line
	open  bool // the file ends in quotes
}

// state is where the next byte of a record is, as encoding/csv sees it.
type state int

const (
	fieldStart state = iota
	inField
	inQuotes
	afterQuote // its end, or the first of two
	skipping   // to the end of the line, behind a fault
)

func (s state) next(b byte) state {
	switch {
	case s == inQuotes && b != '"':
		return inQuotes
	case s == inQuotes:
		return afterQuote
	case s == skipping:
		return skipping
	case b == ',':
		return fieldStart
	case b == '"' && (s == fieldStart || s == afterQuote):
		return inQuotes
	case b == '"', s == afterQuote:
		return skipping
	}
	return inField
}

// next reads the next record, and returns the line on which it begins. The error is
// io.EOF, or the file's.
func (r *recordReader) next() (line int, err error) {
	line = r.line
	r.text, r.size, r.stray = r.text[:0], 0, false
	for s := fieldStart; ; {
		piece, err := r.in.ReadSlice('\n')
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		r.text = append(r.text, piece[:min(len(piece), max(0, r.limit-len(r.text)))]...)
		r.size += len(piece)
		for i, b := range piece {
			switch {
			case b == '\n' && s != inQuotes:
				r.line++
				return line, nil
			case b == '\n':
				r.line++
			case b == '\r' && s != inQuotes && string(piece[i+1:]) != "\n":
				r.stray, s = r.stray || s != skipping, skipping
			default:
				s = s.next(b)
			}
		}
		if errors.Is(err, io.EOF) {
			r.open = s == inQuotes
			if r.size == 0 {
				return line, io.EOF
			}
			return line, nil
		}
	}
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
func (r *recordReader) isBlank() bool { return r.size <= len("\r\n") && r.raw() == "" && !r.stray }

var (
	errStrayQuote = errors.New(`a quote stands inside a field: put the whole field in quotes and write two, ""`)
	errAfterQuote = errors.New("a closing quote is followed by neither a comma nor the end of the line")
	errOpenQuote  = errors.New("a quote is opened and never closed")
	errStrayCR    = errors.New("a carriage return stands outside quotes; lines end in LF or CR LF")
)

// fields returns the fields of the record.
func (r *recordReader) fields() ([]string, error) {
	text := strings.TrimSuffix(strings.TrimSuffix(string(r.text), "\n"), "\r")
	switch {
	case r.size > r.limit:
		return nil, errTooLong
	case r.stray:
		return nil, errStrayCR
	case !strings.Contains(text, `"`):
		return strings.Split(text, ","), nil
	}
	// In quotes encoding/csv makes a line feed of each CR LF. Of CR CR LF it makes the
	// CR LF that was meant. Outside quotes there is none but at the end.
	in := csv.NewReader(strings.NewReader(strings.ReplaceAll(text, "\r\n", "\r\r\n")))
	in.FieldsPerRecord = -1
	fields, err := in.Read()
	switch {
	case err == nil:
		return fields, nil
	case errors.Is(err, csv.ErrBareQuote):
		return nil, errStrayQuote
	case r.open:
		return nil, errOpenQuote
	}
	return nil, errAfterQuote
}

package files

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/pets"
)

// ndjsonReader reads an object a line. Lines of white space are no rows.
type ndjsonReader struct {
	Reading
	in    *bufio.Reader
	limit int // of a line
	line  int
	text  []byte

	source   bytes.Reader // of decoder
	decoder  jsontext.Decoder
	unquoted []byte // used again and again
}

func (f Reading) ndjson(in *bufio.Reader) rowReader {
	limit := maxBody
	if f.IDs {
		limit += slack
	}
	return &ndjsonReader{Reading: f, in: in, limit: limit}
}

func (r *ndjsonReader) raw() string { return string(r.text) }

func (r *ndjsonReader) next() (Row, error) {
	for {
		r.line++
		var err error
		r.text, err = readLine(r.in, r.limit)
		switch {
		case err == errTooLong:
			return Row{Line: r.line, Err: err}, nil
		case err != nil:
			return Row{Line: r.line}, err
		case len(bytes.TrimSpace(r.text)) > 0:
			row, err := r.readObject(r.text)
			row.Line, row.Err = r.line, err
			return row, nil
		}
	}
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

// object is a pet as a line has it. The strict library refuses duplicate names,
// invalid UTF-8, lone surrogates and text after the value, as the service does.
// readObject checks the values.
type object struct {
	ID         jsontext.Value `json:"id"`
	Name       jsontext.Value `json:"name"`
	CategoryID jsontext.Value `json:"categoryId"`
	Status     jsontext.Value `json:"status"`
}

// property returns the place of the value of a property, nil where it is ignored.
func (o *object) property(name string) *jsontext.Value {
	switch name {
	case "id":
		return &o.ID
	case "name":
		return &o.Name
	case "categoryId":
		return &o.CategoryID
	case "status":
		return &o.Status
	}
	return nil
}

// readProperties reads line token by token, in less than half of the time that
// json.Unmarshal takes. It reports false for a line that is not one valid object.
func (r *ndjsonReader) readProperties(line []byte) (o object, ok bool) {
	r.source.Reset(line)
	r.decoder.Reset(&r.source)
	if begin, err := r.decoder.ReadToken(); err != nil || begin.Kind() != '{' {
		return o, false
	}
	for r.decoder.PeekKind() == '"' {
		name, err := r.decoder.ReadToken()
		if err != nil {
			return o, false
		}
		property := o.property(name.String())
		value, err := r.decoder.ReadValue()
		if err != nil {
			return o, false
		}
		if property != nil {
			end := r.decoder.InputOffset()
			*property = line[end-int64(len(value)) : end] // value itself is the decoder's
		}
	}
	if _, err := r.decoder.ReadToken(); err != nil {
		return o, false
	}
	_, err := r.decoder.ReadToken()
	return o, errors.Is(err, io.EOF)
}

func (r *ndjsonReader) readObject(line []byte) (row Row, err error) {
	o, ok := r.readProperties(line)
	if !ok {
		o = object{}
		err = json.Unmarshal(line, &o) // which tells what is wrong
	}
	if _, ok := errors.AsType[*json.SemanticError](err); ok || err == nil && jsontext.Value(line).Kind() != '{' {
		return row, errors.New("the row must be an object")
	}
	if err != nil {
		return row, explain(line, err)
	}
	if o.Name == nil {
		return row, errNoName
	}
	if o.Name.Kind() != '"' {
		return row, errors.New("name must be a string")
	}
	if r.unquoted, err = jsontext.AppendUnquote(r.unquoted[:0], o.Name); err != nil {
		return row, explain(line, err)
	}
	row.Pet.Name = string(r.unquoted)
	if o.CategoryID == nil {
		return row, errNoCategory
	}
	if row.Pet.CategoryID, ok = integer(string(o.CategoryID)); !ok {
		return row, errCategory
	}
	if o.Status != nil {
		r.unquoted, err = jsontext.AppendUnquote(r.unquoted[:0], o.Status)
		if row.Pet.Status = pets.Status(r.unquoted); err != nil || !row.Pet.Status.Valid() {
			return row, errStatus
		}
	}
	if !r.IDs {
		return row, nil
	}
	if o.ID == nil {
		return row, errNoID
	}
	if row.ID, ok = integer(string(o.ID)); !ok {
		return row, errID
	}
	return row, nil
}

// integer reads a JSON number that is an integer in OpenAPI 3.0 and in int64:
// 7.0 and 1e2 are none. JSON has no plus and no leading zeros.
func integer(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	digits := strings.TrimPrefix(text, "-")
	return n, err == nil && digits[0] != '+' && (digits[0] != '0' || len(digits) == 1)
}

// maxEchoed bounds what of the file's own text a message repeats, in bytes.
const maxEchoed = 64

// explain returns the fault of a line that is not JSON.
func explain(line []byte, err error) error {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !utf8.Valid(line):
		return errNotUTF8
	case errors.Is(err, jsontext.ErrDuplicateName) && ok:
		if name := syntax.JSONPointer.LastToken(); len(name) <= maxEchoed {
			return fmt.Errorf("the row has the property %q twice", name)
		}
		return errors.New("the row has a property twice")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the line ends before its JSON does; an object must stand on one line")
	case ok:
		return fmt.Errorf("the row is not valid JSON at byte %d", syntax.ByteOffset)
	}
	return errors.New("the row is not valid JSON")
}

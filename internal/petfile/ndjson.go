package petfile

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

	"example.com/petstore/internal/petstore"
)

// ndjsonReader reads an object a line. Lines of white space are no rows.
type ndjsonReader struct {
	Reading
	in    *bufio.Reader
	limit int // of a line
	line  int
	text  []byte
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

func (f Reading) readObject(line []byte) (row Row, err error) {
	var o object
	err = json.Unmarshal(line, &o)
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
	name, err := jsontext.AppendUnquote(nil, o.Name)
	if err != nil {
		return row, explain(line, err)
	}
	row.Pet.Name = string(name)
	if o.CategoryID == nil {
		return row, errNoCategory
	}
	var ok bool
	if row.Pet.CategoryID, ok = integer(string(o.CategoryID)); !ok {
		return row, errCategory
	}
	if o.Status != nil {
		status, err := jsontext.AppendUnquote(nil, o.Status)
		if row.Pet.Status = petstore.Status(status); err != nil || !row.Pet.Status.Valid() {
			return row, errStatus
		}
	}
	if !f.IDs {
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

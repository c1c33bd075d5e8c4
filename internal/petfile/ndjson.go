package petfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/petstore"
)

// ndjson returns the function that reads the next row. Lines of white space
// are none.
func (f Reading) ndjson(in *bufio.Reader) func() (Row, error) {
	limit := maxBody
	if f.IDs {
		limit += slack
	}
	o := &object{ids: f.IDs}
	o.decoder = jsontext.NewDecoder(&o.text)
	line := 0
	return func() (Row, error) {
		for {
			line++
			text, err := readLine(in, limit)
			switch {
			case err == errTooLong:
				return Row{Line: line, Err: err}, nil
			case err != nil:
				return Row{Line: line}, err
			case len(bytes.TrimSpace(text)) > 0:
				row := o.read(text)
				row.Line = line
				return row, nil
			}
		}
	}
}

// readLine returns the next line without its end. Of one that is longer than
// limit nothing is kept.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	text, err := in.ReadSlice('\n')
	long := false
	for errors.Is(err, bufio.ErrBufferFull) {
		long = true
		text, err = in.ReadSlice('\n')
	}
	if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0 && !long) {
		return nil, err
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	if long || len(text) > limit {
		return nil, errTooLong
	}
	return text, nil
}

// object reads pets from JSON as strictly as the service does: no duplicate
// names, no invalid UTF-8 or lone surrogates, nothing after the value.
type object struct {
	ids     bool
	text    bytes.Buffer
	decoder *jsontext.Decoder

	row                       Row
	named, categorised, hasID bool
	wrong                     error // the first property that has an unacceptable value
}

func (o *object) read(line []byte) Row {
	o.text.Reset()
	o.text.Write(line)
	o.decoder.Reset(&o.text)
	o.row, o.named, o.categorised, o.hasID, o.wrong = Row{}, false, false, false, nil
	o.row.Err = o.decode(line)
	return o.row
}

func (o *object) decode(line []byte) error {
	d := o.decoder
	if d.PeekKind() != '{' {
		if err := d.SkipValue(); err != nil {
			return explain(line, err)
		}
		o.wrong = errors.New("the row must be an object")
	} else if err := o.properties(); err != nil {
		return explain(line, err)
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return explain(line, err)
	}
	switch {
	case o.wrong != nil:
		return o.wrong
	case !o.named:
		return errNoName
	case !o.categorised:
		return errNoCategory
	case o.ids && !o.hasID:
		return errNoID
	}
	return nil
}

// properties reads all of the object, since what follows a wrong value may not
// even be JSON.
func (o *object) properties() error {
	d := o.decoder
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "name":
			err = o.value('"', errors.New("name must be a string"), func(text string) bool {
				o.row.Pet.Name, o.named = text, true
				return true
			})
		case "categoryId":
			err = o.value('0', errCategory, func(text string) (ok bool) {
				o.categorised = true
				o.row.Pet.CategoryID, ok = integer(text)
				return ok
			})
		case "status":
			err = o.value('"', errStatus, func(text string) bool {
				o.row.Pet.Status = petstore.Status(text)
				return o.row.Pet.Status.Valid()
			})
		case "id":
			if !o.ids {
				err = d.SkipValue()
				break
			}
			err = o.value('0', errID, func(text string) (ok bool) {
				o.hasID = true
				o.row.ID, ok = integer(text)
				return ok
			})
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	_, err := d.ReadToken()
	return err
}

// value reads one that must be of that kind and that take must accept; what is
// not is noted.
func (o *object) value(kind jsontext.Kind, refusal error, take func(text string) bool) error {
	if o.decoder.PeekKind() != kind {
		if o.wrong == nil {
			o.wrong = refusal
		}
		return o.decoder.SkipValue()
	}
	token, err := o.decoder.ReadToken()
	if err != nil {
		return err
	}
	if !take(token.String()) && o.wrong == nil {
		o.wrong = refusal
	}
	return nil
}

// integer reads a JSON number that is an integer in OpenAPI 3.0 and in int64:
// 7.0 and 1e2 are none.
func integer(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// maxEchoed bounds what of the file's own text a message repeats, in bytes.
const maxEchoed = 64

// explain says what is wrong with a line that is not JSON.
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
	return errors.New("more follows after the object on its line")
}

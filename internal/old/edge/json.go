package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/petstore/internal/old/edge/schema"
)

// decodeJSON reads a JSON text by RFC 8259 and I-JSON (RFC 7493). Unlike
// encoding/json it refuses duplicate names, invalid UTF-8, lone surrogates, text
// after the value, and nesting past 10,000 levels. Numbers stay their own text
// (json.Number), since float64 has no room for every int64. fault is the fault of
// the text and its place, or "".
func decodeJSON(data []byte) (value any, fault string) {
	dec := decoders.Get().(*decoder)
	defer decoders.Put(dec)
	dec.use(data)
	defer dec.use(nil) // so that the pool does not hold data
	value, err := decodeValue(dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return value, ""
		}
	}
	return nil, explainJSON(data, err)
}

// decoder reads a JSON text in place.
type decoder struct {
	jsontext.Decoder
	text bytes.Buffer
}

func (d *decoder) use(text []byte) {
	d.text = *bytes.NewBuffer(text)
	d.Reset(&d.text)
}

// decoders keep what a decoder allocates for the names of an object: a tenth of
// the allocations of a create.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

func decodeValue(dec *decoder) (any, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		object := map[string]any{}
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String() // before the next read, which ends the token's life
			if object[key], err = decodeValue(dec); err != nil {
				return nil, err
			}
		}
		_, err = dec.ReadToken()
		return object, err
	case '[':
		array := []any{}
		for dec.PeekKind() != ']' {
			item, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			array = append(array, item)
		}
		_, err = dec.ReadToken()
		return array, err
	case '"':
		return token.String(), nil
	case '0':
		return json.Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}

// explainJSON is the fault of a text that is not JSON.
func explainJSON(data []byte, err error) string {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !utf8.Valid(data):
		return "is not valid UTF-8"
	case errors.Is(err, jsontext.ErrDuplicateName) && ok:
		if name := syntax.JSONPointer.LastToken(); len(name) <= schema.MaxEchoed {
			return fmt.Sprintf("has the property %q twice", name)
		}
		return "has a property twice"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "ends before its JSON does"
	case ok:
		return fmt.Sprintf("is not valid JSON at byte %d", syntax.ByteOffset)
	}
	return "is not valid JSON: more follows after its value"
}

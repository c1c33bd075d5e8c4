package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// decodeJSON reads a JSON text as RFC 8259 and I-JSON (RFC 7493) have it, and
// as encoding/json does not: no duplicate names, no invalid UTF-8 or lone
// surrogates, nothing after the value, no nesting past 10,000 levels. Numbers
// stay their own text (json.Number), since float64 has no room for every int64.
func decodeJSON(data []byte) (any, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(data))
	value, err := decodeValue(dec)
	if err == nil {
		if _, err = dec.ReadToken(); err == io.EOF {
			return value, nil
		}
	}
	return nil, invalidBody(explainJSON(data, err))
}

func decodeValue(dec *jsontext.Decoder) (any, error) {
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

// maxEchoed bounds what of a client's own text a message repeats, in bytes.
const maxEchoed = 64

// explainJSON says what is wrong with a text that is not JSON, and where.
func explainJSON(data []byte, err error) string {
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return "a body is required"
	case !utf8.Valid(data):
		return "the body is not valid UTF-8"
	case errors.Is(err, jsontext.ErrDuplicateName) && ok:
		if name := syntax.JSONPointer.LastToken(); len(name) <= maxEchoed {
			return fmt.Sprintf("the body has the property %q twice", name)
		}
		return "the body has a property twice"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the body ends before its JSON does"
	case ok:
		return fmt.Sprintf("the body is not valid JSON at byte %d", syntax.ByteOffset)
	}
	return "the body is not valid JSON: more follows after its value"
}

// checkIntegers refuses what the validator, which compares as float64, takes
// for an integer although OpenAPI 3.0 and the generated types do not: 7.0, 1e2,
// and what is past int64.
func checkIntegers(schema *openapi3.Schema, value any, path []string) error {
	switch v := value.(type) {
	case json.Number:
		if !schema.Type.Is("integer") {
			return nil
		}
		if _, err := strconv.ParseInt(string(v), 10, 64); err != nil {
			return invalidBody(strings.Join(path, ".") + " must be " + expected(schema))
		}
	case map[string]any:
		for name, property := range schema.Properties {
			if err := checkIntegers(property.Value, v[name], append(path, name)); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if schema.Items == nil {
				return nil
			}
			if err := checkIntegers(schema.Items.Value, item, append(path, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

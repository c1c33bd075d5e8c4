package edge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"
	"github.com/oapi-codegen/runtime"
)

// maxBody is the greatest body in bytes. The document names it too.
const maxBody = 64 << 10

const mediaTypeJSON = "application/json"

// readBody reads the body into memory, after everything that can be refused
// without reading it. answer is the header of the answer.
func readBody(r *http.Request, answer http.Header) error {
	if err := checkMediaType(r.Header); err != nil {
		return err
	}
	if r.ContentLength > maxBody {
		return errTooLarge
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(r.Body, maxBody+1)); err != nil {
		return &problem{status: http.StatusBadRequest, code: codeInvalidBody, message: "the body did not arrive whole", cause: err}
	}
	if buf.Len() > maxBody {
		return errTooLarge
	}
	delete(answer, "Connection")
	r.Body = io.NopCloser(&buf)
	return nil
}

// checkMediaType accepts one Content-Type of JSON, whatever its parameters,
// and no content coding (RFC 9110, sections 8.3 and 8.4).
func checkMediaType(h http.Header) error {
	types := h["Content-Type"]
	if len(types) != 1 {
		return errMediaType
	}
	if mediaType, _, err := mime.ParseMediaType(types[0]); err != nil || mediaType != mediaTypeJSON {
		return errMediaType
	}
	for _, coding := range h["Content-Encoding"] {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return errContentEncoding
		}
	}
	return nil
}

// useStrictJSON has kin-openapi read JSON by decodeJSON. Its registry of
// decoders is global to the process, the one global this program changes.
var useStrictJSON = sync.OnceFunc(func() {
	openapi3filter.RegisterBodyDecoder(mediaTypeJSON, decodeJSON)
})

// decodeJSON reads a JSON text as RFC 8259 and I-JSON (RFC 7493) have it, and
// as encoding/json does not: no duplicate names, no invalid UTF-8 or lone
// surrogates, nothing after the value. Integers stay exact.
func decodeJSON(body io.Reader, _ http.Header, schema *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	var value any
	if err := jsonv2.Unmarshal(data, &value, exactNumbers); err != nil {
		return nil, invalidBody(explainJSON(data, err))
	}
	if err := checkIntegers(schema, value, nil); err != nil {
		return nil, err
	}
	return value, nil
}

// exactNumbers reads numbers as their own text, since float64 has no room for
// every int64.
var exactNumbers = jsonv2.WithUnmarshalers(jsonv2.UnmarshalFromFunc(func(dec *jsontext.Decoder, value *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	number, err := dec.ReadValue()
	*value = json.Number(number)
	return err
}))

// checkIntegers refuses what the validator, which compares as float64, takes
// for an integer although OpenAPI 3.0 and the generated types do not: 7.0, 1e2,
// and what is past int64.
func checkIntegers(schema *openapi3.SchemaRef, value any, path []string) error {
	if schema == nil || schema.Value == nil {
		return nil
	}
	switch v := value.(type) {
	case json.Number:
		if _, err := strconv.ParseInt(string(v), 10, 64); err != nil && schema.Value.Type.Is("integer") {
			return invalidBody(strings.Join(path, ".") + " must be " + expected(schema.Value))
		}
	case map[string]any:
		for name, property := range schema.Value.Properties {
			if err := checkIntegers(property, v[name], append(path, name)); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if err := checkIntegers(schema.Value.Items, item, append(path, strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// explainJSON says what is wrong with a text that is not JSON, and where.
func explainJSON(data []byte, err error) string {
	if len(bytes.TrimSpace(data)) == 0 {
		return "a body is required"
	}
	if !utf8.Valid(data) {
		return "the body is not valid UTF-8"
	}
	syntax, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && ok:
		return fmt.Sprintf("the body has the property %s twice", strconv.Quote(syntax.JSONPointer.LastToken()))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the body ends before its JSON does"
	case ok:
		return fmt.Sprintf("the body is not valid JSON at byte %d", syntax.ByteOffset)
	}
	return "the body is not valid JSON"
}

// validatedBinder gives the generated code the very value that was validated,
// and never reads a body itself.
type validatedBinder struct{}

func (validatedBinder) Bind(target any, c echo.Context) error {
	body, ok := c.Request().Body.(interface{ ValidatedValue() any })
	if !ok {
		return errors.New("the body reached the generated code without validation")
	}
	if err := runtime.BindJSONValue(body.ValidatedValue(), target); err != nil {
		return fmt.Errorf("a validated body does not fit the generated type: %w", err)
	}
	return nil
}

package edge

import (
	"bytes"
	encodingjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"example.com/petstore/engine/fault"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"
)

const maxDepth = 100 // levels of nesting in the JSON of a body

// numberForm matches a number as JSON writes it.
var numberForm = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// validateParameters checks the parameters of a request against the document.
func (op *operation) validateParameters(c echo.Context) error {
	r := c.Request()
	query, raw := c.QueryParams(), r.URL.RawQuery           // query has no malformed parts, as in the generated code
	if len(raw) > 8<<10 || strings.ContainsAny(raw, "%;") { // others are well-formed, so not parsed twice
		if _, err := url.ParseQuery(raw); err != nil {
			return fault.New(fault.InvalidParameter, "the query string is malformed or has too many parameters: "+
				"% must be followed by two hexadecimal digits, and ; must be written as %3B")
		}
	}
	input := &openapi3filter.RequestValidationInput{Request: r, QueryParams: query}
	for _, parameter := range op.Parameters {
		p := parameter.Value
		kind, values := fault.InvalidParameter, query[p.Name]
		switch p.In {
		case openapi3.ParameterInHeader:
			kind, values = fault.InvalidRequest, r.Header[http.CanonicalHeaderKey(p.Name)]
		case openapi3.ParameterInPath:
			value := c.Param(p.Name)
			if r.URL.RawPath != "" { // see ServeHTTP; the generated code does the same
				value, _ = url.PathUnescape(value)
			}
			values, input.PathParams = []string{value}, map[string]string{p.Name: value}
		}
		if len(values) == 0 {
			if p.Required {
				return fault.New(kind, p.Name+" is required")
			}
			continue // openapi3filter would rewrite the request to set a default
		}
		if wrong := checkText(p.Schema.Value, values); wrong != "" {
			return fault.New(kind, p.Name+" "+wrong)
		}
		if err := openapi3filter.ValidateParameter(r.Context(), input, p); err != nil {
			return fault.New(kind, describe(err, p.Name, p.Schema.Value))
		}
	}
	return nil
}

// checkText checks what openapi3filter does not: that a parameter is given once, that numbers
// are written as in JSON, and text in UTF-8. It returns what is wrong, or "".
func checkText(schema *openapi3.Schema, values []string) string {
	if schema.Type.Is("array") {
		schema = schema.Items.Value
	} else if len(values) > 1 {
		return "must be given only once"
	}
	for _, text := range values {
		switch {
		case !utf8.ValidString(text):
			return "must be in UTF-8"
		case schema.Type.Is("integer") && !isInteger(text, bits(schema)),
			schema.Type.Is("number") && !numberForm.MatchString(text),
			schema.Type.Is("boolean") && text != "true" && text != "false":
			return describeType(schema)
		}
	}
	return ""
}

// isInteger reports whether text is an integer of this size, written as in JSON.
func isInteger(text string, bits int) bool {
	_, err := strconv.ParseInt(text, 10, bits)
	digits := strings.TrimPrefix(text, "-")
	return err == nil && (digits == "0" || digits[0] >= '1') // not +5 or 05
}

// read validates the parameters and, if the operation takes a body, reads it. It also validates
// text; see Bind for JSON.
func (r *request) read() error {
	if err := r.op.validateParameters(r.c); err != nil {
		return err
	}
	sent, limit := r.c.Request(), r.h.options.MaxBody
	if r.op.RequestBody == nil || sent.ContentLength == 0 && !r.op.RequestBody.Value.Required {
		return nil
	}
	if sent.ContentLength > limit {
		return tooLarge(limit)
	}
	mediaType, err := r.mediaType()
	if err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(r.c.Response().Writer, sent.Body, limit))
	switch _, exceeded := errors.AsType[*http.MaxBytesError](err); {
	case exceeded:
		return tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(fault.RequestTimeout, err)
	case err != nil:
		return &fault.Error{Kind: fault.InvalidBody, Message: "the body could not be read completely", Err: err}
	case len(body) == 0 && r.op.RequestBody.Value.Required:
		return fault.New(fault.InvalidBody, "a body is required")
	}
	r.body = body
	if isJSON(mediaType) || len(body) == 0 {
		return nil
	}
	sent.Body = io.NopCloser(bytes.NewReader(body)) // where the generated code reads it
	return checkTextBody(r.schema, body)
}

func tooLarge(limit int64) error {
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
}

// mediaType returns the media type of the body, or its range, as the document has it. The
// generated code gets it as Content-Type. A body that is compressed or of another type is
// rejected, and a header says what the operation accepts.
func (r *request) mediaType() (string, error) {
	sent, accepted := r.c.Request().Header, r.c.Response().Header()
	if coding := sent.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		accepted.Set("Accept-Encoding", "identity")
		return "", fault.New(fault.UnsupportedMediaType, "the body must not be compressed")
	}
	content, received := r.op.RequestBody.Value.Content, strings.Join(sent["Content-Type"], ",")
	mediaType, _, err := mime.ParseMediaType(received)
	name := mediaType
	if content[name] == nil {
		name = mediaType[:strings.Index(mediaType, "/")+1] + "*"
	}
	if err != nil || content[name] == nil {
		accepts := strings.Join(slices.Sorted(maps.Keys(content)), ", ")
		accepted.Set("Accept", accepts)
		return "", fault.New(fault.UnsupportedMediaType, "the Content-Type must be "+accepts)
	}
	if schema := content[name].Schema; schema != nil {
		r.schema = schema.Value
	}
	if len(content) > 1 {
		mediaType = name // beside others, the generated code knows only the range
	}
	if mediaType != received {
		sent.Set("Content-Type", mediaType)
	}
	return name, nil
}

// checkTextBody validates a body as text, unless it is binary or has another schema.
func checkTextBody(schema *openapi3.Schema, body []byte) error {
	if schema == nil || !schema.Type.Is("string") || schema.Format == "binary" {
		return nil
	}
	if !utf8.Valid(body) {
		return fault.New(fault.InvalidBody, "the body must be in UTF-8")
	}
	if err := schema.VisitJSON(string(body), openapi3.VisitAsRequest(), openapi3.MultiErrors()); err != nil {
		return fault.New(fault.InvalidBody, describe(err, "the body", schema))
	}
	return nil
}

// Bind implements echo.Binder for the generated code. After waiting for a decode slot, it
// validates and decodes the body. Without a body it returns io.EOF.
func (f *inFlight) Bind(into any, c echo.Context) error {
	ctx := c.Request().Context()
	r := requestOf(ctx)
	if len(r.body) == 0 {
		return io.EOF
	}
	if !acquire(ctx, f.decoding) {
		return errOverloaded
	}
	defer f.decoding.Release(1)
	return decodeBody(r.schema, r.body, into)
}

// decodeBody validates a JSON body and decodes it into its Go type. Its errors are for the client.
func decodeBody(schema *openapi3.Schema, body []byte, into any) error {
	var value any
	if err := json.Unmarshal(body, &value, json.WithUnmarshalers(jsonValues)); err != nil {
		return fault.New(fault.InvalidBody, describeSyntax(err))
	}
	options := []openapi3.SchemaValidationOption{openapi3.VisitAsRequest(), openapi3.MultiErrors()}
	if bytes.Count(body, []byte(",")) > 1000 { // all of them may be wrong: look only for the first fault
		options = options[:1]
	}
	undecodable, invalid := json.Unmarshal(body, into), schema.VisitJSON(value, options...)
	if undecodable == nil && invalid == nil {
		return nil
	}
	return fault.New(fault.InvalidBody, describe(openapi3.MultiError{undecodable, invalid}, "the body", schema))
}

var errTooDeep = fmt.Errorf("the body must be nested at most %d levels deep", maxDepth)

// jsonValues decodes numbers as text, because they may overflow float64, and limits the depth,
// because the decoder's stack grows with each level.
var jsonValues = json.UnmarshalFromFunc(func(d *jsontext.Decoder, value *any) error {
	switch kind := d.PeekKind(); {
	case kind == '0':
		number, err := d.ReadToken()
		*value = encodingjson.Number(number.String())
		return err
	case d.StackDepth() == maxDepth && (kind == '{' || kind == '['):
		return errTooDeep
	}
	return errors.ErrUnsupported // use the default
})

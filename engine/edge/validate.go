package edge

import (
	"bytes"
	"encoding/base64"
	encodingjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/mail"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/petstore/engine/fault"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"
)

const maxDepth = 100 // levels of nesting in the JSON of a body

// formats checks texts as strictly as the generated code decodes them, or more so: an email is an address
// without a name, and a uuid has the form of RFC 9562.
var formats = openapi3.WithStringFormatValidators(map[string]openapi3.StringFormatValidator{
	"uuid": openapi3.NewRegexpFormatValidator(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`),
	"byte": openapi3.NewCallbackValidator(func(text string) error {
		_, err := base64.StdEncoding.DecodeString(text)
		return err
	}),
	"date-time": openapi3.NewCallbackValidator(func(text string) error {
		return new(time.Time).UnmarshalText([]byte(text))
	}),
	"email": openapi3.NewCallbackValidator(func(text string) error {
		_, err := mail.ParseAddress("<" + text + ">")
		return err
	}),
})

// validate returns an error that says what is wrong with a value.
func validate(kind fault.Kind, name string, value any, schema *openapi3.Schema) error {
	if err := schema.VisitJSON(value, formats, openapi3.VisitAsRequest(), openapi3.MultiErrors()); err != nil {
		return fault.New(kind, describe(err, name, schema))
	}
	return nil
}

// validateParameters checks the parameters of a request against the document.
func (op *operation) validateParameters(c echo.Context) error {
	r := c.Request()
	query, err := url.ParseQuery(r.URL.RawQuery) // c.QueryParams would leave out what is malformed
	if err != nil {
		return fault.New(fault.InvalidParameter, "the query string is malformed or has too many parameters: "+
			"% must be followed by two hexadecimal digits, and ; must be written as %3B")
	}
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
			values = []string{value}
		}
		if len(values) == 0 && !p.Required {
			continue
		}
		value, wrong := parseParameter(p, values)
		if wrong != "" {
			return fault.New(kind, p.Name+" "+wrong)
		}
		if err := validate(kind, p.Name, value, p.Schema.Value); err != nil {
			return err
		}
	}
	return nil
}

// parseParameter returns the value of a parameter as in JSON, or what is wrong.
func parseParameter(p *openapi3.Parameter, texts []string) (value any, wrong string) {
	schema, isArray := p.Schema.Value, p.Schema.Value.Type.Is("array")
	inCommas := isArray && p.Explode != nil && !*p.Explode
	switch {
	case len(texts) == 0:
		return nil, "is required"
	case len(texts) > 1 && (inCommas || !isArray):
		return nil, "must be given only once"
	case !isArray:
		return parseText(texts[0], schema)
	case inCommas:
		texts = strings.Split(texts[0], ",")
	}
	items := make([]any, len(texts))
	for i := range texts {
		if items[i], wrong = parseText(texts[i], schema.Items.Value); wrong != "" {
			return nil, wrong
		}
	}
	return items, ""
}

// parseText returns the value of a text, which must be in UTF-8, or as in JSON if it is a number.
func parseText(text string, schema *openapi3.Schema) (value any, wrong string) {
	var err error
	switch {
	case !utf8.ValidString(text):
		return nil, "must be in UTF-8"
	case schema.Type.Is("string"):
		return text, ""
	case text == "true" || text == "false":
		return text == "true", ""
	case schema.Type.Is("integer"):
		_, err = strconv.ParseInt(text, 10, bits(schema))
	default:
		_, err = strconv.ParseFloat(text, bits(schema))
	}
	if err != nil || !jsontext.Value(text).IsValid() {
		return nil, describeType(schema)
	}
	return encodingjson.Number(text), ""
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
	_, exceeded := errors.AsType[*http.MaxBytesError](err)
	switch {
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
	switch {
	case r.schema == nil || !r.schema.Type.Is("string") || r.schema.Format == "binary":
		return nil
	case !utf8.Valid(body):
		return fault.New(fault.InvalidBody, "the body must be in UTF-8")
	}
	return validate(fault.InvalidBody, "the body", string(body), r.schema)
}

func tooLarge(limit int64) error {
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit))
}

// mediaType returns the media type of the body, or its range, as the document has it. The
// generated code gets it as Content-Type. A body that is compressed or of another type is
// rejected, and a header says what the operation accepts.
func (r *request) mediaType() (string, error) {
	sent, accepted := r.c.Request().Header, r.c.Response().Header()
	if coding := strings.Join(sent["Content-Encoding"], ","); coding != "" && !strings.EqualFold(coding, "identity") {
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
	sent.Set("Content-Type", mediaType)
	return name, nil
}

// Bind implements echo.Binder for the generated code. After waiting for a decode slot, it
// validates and decodes the body. Without a body it returns io.EOF.
func (f *inFlight) Bind(into any, c echo.Context) error {
	ctx := c.Request().Context()
	r := requestOf(ctx)
	if len(r.body) == 0 {
		return io.EOF
	}
	if f.decoding.Acquire(ctx, 1) != nil {
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
	options := []openapi3.SchemaValidationOption{formats, openapi3.VisitAsRequest(), openapi3.MultiErrors()}
	if bytes.Count(body, []byte(",")) > 1000 { // all of them may be wrong: look only for the first fault
		options = options[:2]
	}
	undecodable, invalid := json.Unmarshal(body, into), schema.VisitJSON(value, options...)
	if union, ok := into.(interface{ ValueByDiscriminator() (any, error) }); ok && invalid == nil {
		// The generated type of oneOf decodes the body only when the service asks for its value.
		if branch, err := union.ValueByDiscriminator(); err != nil && branch != nil {
			undecodable = json.Unmarshal(body, reflect.New(reflect.TypeOf(branch)).Interface())
		}
	}
	if undecodable == nil && invalid == nil {
		return nil
	}
	return fault.New(fault.InvalidBody, describe(openapi3.MultiError{undecodable, invalid}, "the body", schema))
}

var errTooDeep = fmt.Errorf("the body must be nested at most %d levels deep", maxDepth)

// jsonValues decodes numbers as text, because they may overflow float64, and limits the depth,
// because the decoder's stack grows with each level.
var jsonValues = json.UnmarshalFromFunc(func(d *jsontext.Decoder, value *any) error {
	kind := d.PeekKind()
	switch {
	case kind == '0':
		number, err := d.ReadToken()
		*value = encodingjson.Number(number.String())
		return err
	case d.StackDepth() == maxDepth && (kind == '{' || kind == '['):
		return errTooDeep
	}
	return errors.ErrUnsupported // use the default
})

package edge

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"
)

// operation is an operation of the document, made ready once at the start.
type operation struct {
	method, path string // as Echo has them: GET /v1/pets/:petId
	parameters   openapi3.Parameters
	query        []string         // the names of the parameters of the query string
	headers      []string         // and of those in the header
	body         *openapi3.Schema // nil where the operation takes none
	deprecation  []headerField    // what every answer announces; nil where it is not deprecated
}

// headerField is one of an answer's, made once and shared.
type headerField struct {
	name   string // in canonical form
	values []string
}

func (op *operation) name() string { return op.method + " " + op.path }

// operation returns the middleware of op: the part of a request's way that
// depends on the document.
func (e *edge) operation(op *operation) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			x := c.(*exchange) // which Use has put around every request
			x.op = op
			for _, field := range op.deprecation {
				x.Response().Header()[field.name] = field.values
			}
			keyID, err := e.authenticate(x.Request())
			if err != nil {
				return err
			}
			x.ctx.begin(x.Request().Context(), keyID, x.start)
			defer x.ctx.release()
			x.SetRequest(x.Request().WithContext(&x.ctx))
			if err := op.validate(x); err != nil {
				return err
			}
			if err := next(x); err != nil {
				return err
			}
			if !x.Response().Committed {
				return fmt.Errorf("%s: the service returned neither an answer nor an error", op.name())
			}
			return nil
		}
	}
}

// loadDocument reads the document and checks it against OpenAPI itself.
func loadDocument(data []byte) (*openapi3.T, error) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(data)
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	return doc, nil
}

// operationsOf returns the document's operations by operationId. docs is where
// deprecations are explained.
func operationsOf(doc *openapi3.T, docs string) (map[string]*operation, error) {
	operations := map[string]*operation{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			op, err := newOperation(doc, docs, path, method, item, o)
			if err != nil {
				return nil, fmt.Errorf("openapi.yaml: %s %s: %w", method, path, err)
			}
			operations[o.OperationID] = op
		}
	}
	return operations, nil
}

func newOperation(doc *openapi3.T, docs, path, method string, item *openapi3.PathItem, o *openapi3.Operation) (*operation, error) {
	if o.OperationID == "" {
		return nil, errors.New("it has no operationId")
	}
	if err := checkSecurity(doc, o); err != nil {
		return nil, err
	}
	op := &operation{
		method:     method,
		path:       BasePath + strings.NewReplacer("{", ":", "}", "").Replace(path),
		parameters: slices.Concat(item.Parameters, o.Parameters),
	}
	for _, p := range op.parameters {
		switch p.Value.In {
		case openapi3.ParameterInQuery:
			op.query = append(op.query, p.Value.Name)
		case openapi3.ParameterInHeader:
			op.headers = append(op.headers, http.CanonicalHeaderKey(p.Value.Name))
		}
	}
	var err error
	if op.body, err = bodySchema(o.RequestBody); err != nil {
		return nil, err
	}
	op.deprecation, err = deprecationHeaders(o, docs)
	return op, err
}

// bodySchema returns the schema of the body. Any body but a required one of
// JSON would need code that this service does not have.
func bodySchema(ref *openapi3.RequestBodyRef) (*openapi3.Schema, error) {
	if ref == nil {
		return nil, nil
	}
	content := ref.Value.Content[mediaTypeJSON]
	if !ref.Value.Required || len(ref.Value.Content) != 1 || content == nil || content.Schema == nil {
		return nil, errors.New("its body is not required, or not " + mediaTypeJSON + " alone with a schema, which is all the service can read")
	}
	return content.Schema.Value, nil
}

// checkSecurity makes sure that the operation asks for exactly what
// authenticate checks, so that the document cannot promise another door.
func checkSecurity(doc *openapi3.T, o *openapi3.Operation) error {
	requirements := &doc.Security
	if o.Security != nil {
		requirements = o.Security
	}
	if len(*requirements) == 1 && len((*requirements)[0]) == 1 {
		for name := range (*requirements)[0] {
			scheme := doc.Components.SecuritySchemes[name]
			if scheme != nil && scheme.Value.Type == "http" && strings.EqualFold(scheme.Value.Scheme, "bearer") {
				return nil
			}
		}
	}
	return errors.New("its security is not HTTP bearer authentication alone, which is all the service can check")
}

// deprecationHeaders announces what the document says of the operation's end:
// Deprecation (RFC 9745) from x-deprecated-at, Sunset (RFC 8594) from x-sunset,
// and in Link where the page at docs explains it.
func deprecationHeaders(o *openapi3.Operation, docs string) ([]headerField, error) {
	if !o.Deprecated {
		return nil, nil
	}
	at, err := dateExtension(o, "x-deprecated-at")
	if err != nil {
		return nil, err
	}
	sunset, err := dateExtension(o, "x-sunset")
	if err != nil {
		return nil, err
	}
	return []headerField{
		{"Deprecation", []string{"@" + strconv.FormatInt(at.Unix(), 10)}},
		{"Sunset", []string{sunset.Format(http.TimeFormat)}},
		{"Link", []string{docsLink(docs, o)}},
	}, nil
}

func dateExtension(o *openapi3.Operation, name string) (time.Time, error) {
	text, _ := o.Extensions[name].(string)
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s must be a date in quotes, such as '2030-12-05', on a deprecated operation", name)
	}
	return t, nil
}

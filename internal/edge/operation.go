package edge

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/labstack/echo/v4"
)

// operation is an operation of the document, made ready once at the start.
type operation struct {
	method, path string // as Echo has them: GET /v1/pets/:petId
	route        *routers.Route
	query        []string // the query parameters the document knows
	hasBody      bool
	deprecation  http.Header // what every answer announces; nil where it is not deprecated
}

// requestTimeout bounds the work on one request once it has arrived. It stays
// above what a store waits for by itself (sqlite's busyTimeout, 5 s) and below
// the server's WriteTimeout, so that the client hears 503 and why.
const requestTimeout = 8 * time.Second

// operation returns the middleware of op: the part of a request's way that
// depends on the document.
func (e *edge) operation(op *operation) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			for name, values := range op.deprecation {
				c.Response().Header()[name] = values
			}
			ctx, err := e.authenticate(c.Request())
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()
			r := c.Request().WithContext(ctx)
			c.SetRequest(r)
			if op.hasBody {
				if err := readBody(r, c.Response().Header()); err != nil {
					return err
				}
			}
			if err := op.validate(c, r); err != nil {
				return err
			}
			if err := next(c); err != nil {
				return err
			}
			if !c.Response().Committed {
				return fmt.Errorf("%s %s: the service returned neither an answer nor an error", op.method, op.path)
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

// operationsOf returns the document's operations by operationId.
func operationsOf(doc *openapi3.T) (map[string]*operation, error) {
	operations := map[string]*operation{}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			op, err := newOperation(doc, path, method, item, o)
			if err != nil {
				return nil, fmt.Errorf("openapi.yaml: %s %s: %w", method, path, err)
			}
			operations[o.OperationID] = op
		}
	}
	return operations, nil
}

func newOperation(doc *openapi3.T, path, method string, item *openapi3.PathItem, o *openapi3.Operation) (*operation, error) {
	if o.OperationID == "" {
		return nil, errors.New("it has no operationId")
	}
	if err := checkSecurity(doc, o); err != nil {
		return nil, err
	}
	// Credentials are checked before the body is read, which the validator
	// would do first: its copy of the operation asks for none.
	open := *o
	open.Security = openapi3.NewSecurityRequirements()
	op := &operation{
		method:  method,
		path:    BasePath + strings.NewReplacer("{", ":", "}", "").Replace(path),
		hasBody: o.RequestBody != nil,
		route:   &routers.Route{Spec: doc, Path: path, PathItem: item, Method: method, Operation: &open},
	}
	for _, parameters := range []openapi3.Parameters{item.Parameters, o.Parameters} {
		for _, p := range parameters {
			if p.Value.In == openapi3.ParameterInQuery {
				op.query = append(op.query, p.Value.Name)
			}
		}
	}
	var err error
	op.deprecation, err = deprecationHeaders(o)
	return op, err
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
// Deprecation (RFC 9745) from x-deprecated-at, Sunset (RFC 8594) from x-sunset.
func deprecationHeaders(o *openapi3.Operation) (http.Header, error) {
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
	return http.Header{
		"Deprecation": {"@" + strconv.FormatInt(at.Unix(), 10)},
		"Sunset":      {sunset.Format(http.TimeFormat)},
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

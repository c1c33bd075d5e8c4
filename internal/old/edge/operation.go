package edge

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/old/edge/schema"
)

// operation is an operation of the document, made ready once at the start.
type operation struct {
	Operation
	path        string // as Echo has it: /v1/things/:id
	parameters  []*parameter
	body        *schema.Schema // nil where the operation takes none
	deprecation []headerField  // what every response announces; nil where it is not deprecated
}

// headerField is a header of a response, made once and shared.
type headerField struct {
	name   string // in canonical form
	values []string
}

func (op *operation) name() string { return op.Method + " " + op.path }

// queryNames returns the names that the query string may have, in order.
func (op *operation) queryNames() []string {
	var known []string
	for _, p := range op.parameters {
		switch {
		case p.in != openapi3.ParameterInQuery:
		case p.kind == "object":
			for _, property := range p.properties {
				known = append(known, p.propertyKey(property))
			}
		default:
			known = append(known, p.name)
		}
	}
	slices.Sort(known)
	return known
}

// operationsOf returns the document's operations, whose paths follow base. docs is
// where deprecations are explained.
func operationsOf(doc *openapi3.T, base, docs string) ([]*operation, error) {
	if !strings.HasPrefix(doc.OpenAPI, "3.0.") {
		return nil, fmt.Errorf("openapi.yaml: it is written in OpenAPI %s, and the service reads 3.0", doc.OpenAPI)
	}
	var operations []*operation
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			op, err := newOperation(doc, base, path, method, item, o)
			if err == nil {
				op.deprecation, err = deprecationHeaders(o, docs)
			}
			if err != nil {
				return nil, fmt.Errorf("openapi.yaml: %s %s: %w", method, path, err)
			}
			operations = append(operations, op)
		}
	}
	if len(operations) == 0 {
		return nil, errors.New("openapi.yaml: it has no operation")
	}
	return operations, nil
}

// allMethods returns those of any path, as Allow lists them.
func allMethods(operations []*operation) string {
	all := []string{http.MethodOptions, http.MethodGet, http.MethodHead} // of the probes, at least
	for _, op := range operations {
		if !slices.Contains(all, op.Method) {
			all = append(all, op.Method)
		}
	}
	return strings.Join(all, ", ")
}

// methods are those an operation can have.
var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

func newOperation(doc *openapi3.T, base, path, method string, item *openapi3.PathItem, o *openapi3.Operation) (*operation, error) {
	if !slices.Contains(methods, method) {
		return nil, errors.New("an operation must be one of " + strings.Join(methods, ", ") + ": the service responds to the others by itself")
	}
	if o.OperationID == "" {
		return nil, errors.New("it has no operationId, after which its method is named")
	}
	public := o.Security != nil && len(*o.Security) == 0
	if err := checkSecurity(doc, o); err != nil && !public {
		return nil, err
	}
	if err := checkErrors(doc, o); err != nil {
		return nil, err
	}
	if o.Servers != nil || len(item.Servers) > 0 {
		return nil, errors.New("it has servers of its own; the document's are those of every operation")
	}
	echoPath, err := echoPath(path)
	if err != nil {
		return nil, err
	}
	op := &operation{
		Operation: Operation{ID: o.OperationID, Method: method, Path: path, Public: public, Deprecated: o.Deprecated},
		path:      base + echoPath,
	}
	if err := checkOwnNames(op.ID, op.path); err != nil {
		return nil, err
	}
	if op.parameters, err = newParameters(item, o); err != nil {
		return nil, err
	}
	if op.body, err = newBody(method, o.RequestBody); err != nil {
		return nil, err
	}
	return op, nil
}

var parameterSegment = regexp.MustCompile(`^\{[A-Za-z0-9._-]+\}$`)

// echoPath returns a path of the document as Echo has it: /things/:id.
func echoPath(path string) (string, error) {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		switch {
		case literalSegment.MatchString(segment):
		case parameterSegment.MatchString(segment):
			segments[i] = ":" + segment[1:len(segment)-1]
		default:
			return "", fmt.Errorf("the segment %q of its path is neither one parameter nor plain text (A-Z a-z 0-9 . _ ~ -)", segment)
		}
	}
	return strings.Join(segments, "/"), nil
}

// newBody returns the schema of the body. Any body but a required one of JSON
// would need code that this service does not have.
func newBody(method string, ref *openapi3.RequestBodyRef) (*schema.Schema, error) {
	if ref == nil {
		return nil, nil
	}
	if method == http.MethodGet || method == http.MethodDelete {
		return nil, errors.New("a body means nothing with " + method + " (OpenAPI 3.0.3, section 4.7.10.1)")
	}
	content := ref.Value.Content[mediaTypeJSON]
	if !ref.Value.Required || len(ref.Value.Content) != 1 || content == nil || content.Schema == nil {
		return nil, errors.New("its body is not required, or not " + mediaTypeJSON + " alone with a schema, which is all the service can read")
	}
	body, err := schema.CompileBody(content.Schema)
	if err != nil {
		return nil, fmt.Errorf("its body: %w", err)
	}
	return body, nil
}

// checkSecurity makes sure that the operation asks for exactly what
// authenticate checks, so that the document cannot promise another door.
func checkSecurity(doc *openapi3.T, o *openapi3.Operation) error {
	requirements := &doc.Security
	if o.Security != nil {
		requirements = o.Security
	}
	if len(*requirements) == 1 && len((*requirements)[0]) == 1 {
		for name, scopes := range (*requirements)[0] {
			if len(scopes) > 0 {
				return fmt.Errorf("its security asks for the scopes %s, which HTTP bearer authentication has not (OpenAPI 3.0.3, section 4.7.30): say in Authorize what a key may do", strings.Join(scopes, ", "))
			}
			scheme := doc.Components.SecuritySchemes[name]
			if scheme != nil && scheme.Value.Type == "http" && strings.EqualFold(scheme.Value.Scheme, "bearer") {
				return nil
			}
		}
	}
	return errors.New("its security is not HTTP bearer authentication alone, which is all the service can check; write security: [] for an operation that needs no key")
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

// docsLink returns the Link of a deprecated operation to where the page at docs
// explains it (RFC 9745, section 3). The place is named after the operation's
// first tag and its operationId; the page's script knows it by that name.
func docsLink(docs string, o *openapi3.Operation) string {
	tag := "default"
	if len(o.Tags) > 0 {
		tag = o.Tags[0]
	}
	return "<" + docs + "#/" + url.PathEscape(tag) + "/" + url.PathEscape(o.OperationID) + `>; rel="deprecation"; type="text/html"`
}

package edge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

// Document is an OpenAPI document that the edge can serve.
type Document struct {
	Title string
	Base  string // the path of its first server, such as /v1

	raw, json  []byte
	spec       *openapi3.T
	operations map[string]*operation // by operationId
}

// operation is an operation of the document, prepared for serving.
type operation struct {
	*openapi3.Operation
	route       string      // as Echo writes it, such as GET /v1/books/:id
	public      bool        // needs no key
	deprecation http.Header // added to every response; nil unless the operation is deprecated
}

// ParseDocument parses and validates the document in data, which is YAML; json is the same
// document. Both are served. It rejects a document that the edge does not support.
func ParseDocument(data, json []byte) (*Document, error) {
	spec, err := openapi3.NewLoader().LoadFromData(data)
	if err == nil {
		err = spec.Validate(context.Background())
	}
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: %w", err)
	}
	base, err := spec.Servers.BasePath() // "/" without servers
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml: the first of servers: %w", err)
	}
	if spec.Components != nil {
		for name, scheme := range spec.Components.SecuritySchemes {
			if !strings.EqualFold(scheme.Value.Scheme, "bearer") {
				return nil, fmt.Errorf("openapi.yaml: the security scheme %s must be a bearer token", name)
			}
		}
	}
	d := &Document{
		Title: spec.Info.Title, Base: strings.TrimSuffix(base, "/"),
		raw: data, json: json, spec: spec, operations: map[string]*operation{},
	}
	for path, item := range spec.Paths.Map() {
		for method := range item.Operations() {
			op, err := d.newOperation(method, path, item)
			if err != nil {
				return nil, fmt.Errorf("openapi.yaml: %s %s: %w", method, path, err)
			}
			d.operations[op.OperationID] = op
		}
	}
	return d, nil
}

// newOperation prepares an operation of a path. It adds the parameters of the path.
func (d *Document) newOperation(method, path string, item *openapi3.PathItem) (*operation, error) {
	o := item.GetOperation(method)
	switch {
	case o.OperationID == "":
		return nil, errors.New("the operationId is missing")
	case o.Servers != nil || item.Servers != nil:
		return nil, errors.New("servers must be those of the whole document")
	case method == http.MethodHead:
		return nil, errors.New("remove the operation: HEAD is answered wherever GET is")
	case afterParameter.MatchString(path):
		return nil, errors.New("only / may follow a parameter: Echo takes anything else as part of its name")
	}
	security := *cmp.Or(o.Security, &d.spec.Security)
	if len(security) > 1 || len(security) == 1 && len(security[0]) != 1 {
		return nil, fmt.Errorf("security must be one bearer scheme, or [] for an operation without a key, not %v", security)
	}
	echoPath := strings.NewReplacer(":", `\:`, "{", ":", "}", "").Replace(path)
	op := &operation{Operation: o, route: method + " " + d.Base + echoPath, public: len(security) == 0}
	for _, p := range item.Parameters {
		if o.Parameters.GetByInAndName(p.Value.In, p.Value.Name) == nil { // else the operation replaces it
			o.Parameters = append(o.Parameters, p)
		}
	}
	for _, p := range o.Parameters {
		if err := checkParameter(p.Value); err != nil {
			return nil, err
		}
	}
	if o.RequestBody != nil {
		if err := checkBodies(o.RequestBody.Value.Content); err != nil {
			return nil, err
		}
	}
	var err error
	if o.Deprecated {
		op.deprecation, err = deprecationHeader(o)
	}
	return op, err
}

// afterParameter matches a path in which more than a slash follows a parameter.
var afterParameter = regexp.MustCompile(`\}[^/]`)

// unsupported matches forms, and media types that the generated code would not recognize.
var unsupported = regexp.MustCompile(`^multipart/|^application/x-www-form-urlencoded|^\*|[A-Z; ]`)

// checkBodies rejects media types that the edge or the generated code does not support.
func checkBodies(content openapi3.Content) error {
	names, others := slices.Sorted(maps.Keys(content)), 0
	for i, name := range names {
		if !isJSON(name) && name != "text/plain" {
			others++
		}
		beginsAlike := i > 0 && strings.HasPrefix(name, names[i-1])
		if unsupported.MatchString(name) || isJSON(name) && content[name].Schema == nil || others > 1 || beginsAlike {
			return fmt.Errorf("the body has %s; it may have JSON with a schema, text/plain, and one other media type or "+
				"range such as image/*, in lower case, without parameters, none that begins with another, and no forms", names)
		}
	}
	return nil
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json")
}

// checkParameter rejects a parameter that parseText does not support.
func checkParameter(p *openapi3.Parameter) error {
	if p.Schema != nil && p.In != openapi3.ParameterInCookie {
		schema := p.Schema.Value
		if schema.Type.Is("array") && p.In == openapi3.ParameterInQuery {
			schema = schema.Items.Value
		}
		single := slices.ContainsFunc([]string{"string", "integer", "number", "boolean"}, schema.Type.Is)
		if single && slices.Contains([]string{"", openapi3.SerializationForm, openapi3.SerializationSimple}, p.Style) {
			return nil
		}
	}
	return fmt.Errorf("the parameter %s must be a string, integer, number or boolean in query, path or header, "+
		"or an array of one of these in the query", p.Name)
}

// deprecationHeader returns the headers Deprecation (RFC 9745) and Sunset (RFC 8594).
func deprecationHeader(o *openapi3.Operation) (http.Header, error) {
	var days []time.Time
	for _, extension := range []string{"x-deprecated-at", "x-sunset"} {
		text, _ := o.Extensions[extension].(string)
		date, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return nil, fmt.Errorf("a deprecated operation needs %s, a date such as 2030-12-05", extension)
		}
		days = append(days, date)
	}
	return http.Header{"Deprecation": {fmt.Sprint("@", days[0].Unix())}, "Sunset": {days[1].Format(http.TimeFormat)}}, nil
}

package contract

import (
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/property"
)

// operation is an operation of the document.
type operation struct {
	*openapi3.Operation
	method, template string
	parameters       []*openapi3.Parameter
	media            string           // of the body
	body             *openapi3.Schema // nil if it has none
}

// operations returns the operations of the document in a fixed order.
func operations(document *openapi3.T) (all []operation) {
	for template, item := range document.Paths.Map() {
		for method, o := range item.Operations() {
			op := operation{Operation: o, method: method, template: template}
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				op.parameters = append(op.parameters, p.Value)
			}
			if o.RequestBody != nil {
				for media, content := range o.RequestBody.Value.Content {
					op.media, op.body = media, content.Schema.Value
				}
			}
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(cmp.Compare(a.template, b.template), cmp.Compare(a.method, b.method))
	})
	return all
}

// parameter returns the schema of a parameter, or nil.
func (o operation) parameter(in, name string) *openapi3.Schema {
	for _, p := range o.parameters {
		if p.In == in && p.Name == name {
			return p.Schema.Value
		}
	}
	return nil
}

// answer returns the schema of the body of a success; nil if it has none.
func (o operation) answer() *openapi3.SchemaRef {
	for status, r := range o.Responses.Map() {
		if content := r.Value.Content["application/json"]; strings.HasPrefix(status, "2") && content != nil {
			return content.Schema
		}
	}
	return nil
}

// collection is a path with a list, and what can be done with its resources.
type collection struct {
	*suite
	list   operation
	create operation            // without a method if the document has none
	item   string               // the template of one resource; empty if there is none
	items  map[string]operation // of item, by method
	parent *collection          // each of whose resources has such a list; nil if there is one list
	schema *openapi3.SchemaRef  // of a resource
	id     string               // the property that identifies a resource

	maxLimit, defaultLimit int // of the parameter limit, or 0
}

// collections returns the collections of the document, parents first.
func (s *suite) newCollections() (all []*collection) {
	for _, o := range s.operations {
		if schema := o.answer(); o.method != http.MethodGet || schema == nil || !schema.Value.Type.Is("array") {
			continue
		}
		c := &collection{suite: s, list: o, items: map[string]operation{}, schema: o.answer().Value.Items, id: "id"}
		if limit := o.parameter("query", "limit"); limit != nil && limit.Max != nil {
			preset, _ := limit.Default.(float64)
			c.maxLimit, c.defaultLimit = int(*limit.Max), int(preset)
		}
		if i := strings.LastIndex(o.template, "}"); i >= 0 {
			j := slices.IndexFunc(all, func(p *collection) bool { return p.item == o.template[:i+1] })
			if j < 0 {
				continue // writes reports its operations
			}
			c.parent = all[j]
		}
		short := o.template[strings.LastIndex(o.template, "/"):] // /books/{bookId}/loans and /loans/{loanId}
		for _, o := range s.operations {
			i := strings.LastIndex(o.template, "/{")
			switch {
			case o.template == c.list.template && o.method == http.MethodPost:
				c.create = o
			case i >= 0 && (o.template[:i] == c.list.template || o.template[:i] == short) && strings.HasSuffix(o.template, "}"):
				c.item, c.items[o.method] = o.template, o
				if name := o.template[i+2 : len(o.template)-1]; c.schema.Value.Properties[name] != nil {
					c.id = name
				}
			}
		}
		all = append(all, c)
	}
	return all
}

// request returns a valid request without a key to an address below the base.
func (s *suite) request(o operation, path string) request {
	r := request{method: o.method, target: s.base + path}
	if o.body != nil {
		r.header, r.body = []string{"Content-Type: " + o.media}, property.Encode(property.Value(o.body).Example(1))
	}
	return r
}

// unknown returns an address of an operation. The identifiers are valid, but if the
// template has any, there is no such resource. One of them may be given.
func (o operation) unknown(name, text string) string {
	path := o.template
	for _, p := range o.parameters {
		if p.In == openapi3.ParameterInPath {
			id := property.Unknown(p.Schema.Value)[0]
			if p.Name == name {
				id = text
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(id))
		}
	}
	return path
}

// faulty returns the faults of a request that are the same in all operations, without a
// key, and what each gets with one.
func (s *suite) faulty(o operation) (rows []row) {
	valid := s.request(o, o.unknown("", ""))
	query := valid
	query.target += "?%zz"
	for _, p := range o.parameters {
		schema, w := p.Schema.Value, want{status: 400, code: "invalid_parameter", message: "^" + p.Name + " "}
		switch p.In {
		case openapi3.ParameterInPath:
			for _, text := range property.InvalidText(schema) {
				if text != "" {
					rows = append(rows, row{p.Name + "=" + text, s.request(o, o.unknown(p.Name, text)), w})
				}
			}
			for _, text := range property.Unknown(schema) {
				unknown := s.request(o, o.unknown(p.Name, text))
				rows = append(rows, row{"unknown " + p.Name + "=" + text, unknown, want{status: 404, code: "not_found"}})
			}
		case openapi3.ParameterInQuery:
			asked := func(texts ...string) request {
				return s.request(o, o.unknown("", "")+"?"+url.Values{p.Name: texts}.Encode())
			}
			for _, text := range property.InvalidText(schema) {
				rows = append(rows, row{p.Name + "=" + text, asked(text), w})
			}
			if !schema.Type.Is("array") {
				text := property.Text(property.Value(schema).Example(1))
				rows = append(rows, row{p.Name + " twice", asked(text, text), w})
			}
		}
	}
	if o.body != nil {
		// The query is checked before the size, and that before the type.
		size := valid
		size.body += strings.Repeat(" ", maxBody)
		size.header, query.header, query.body = nil, nil, size.body
		rows = append(rows, row{"body size", size, want{status: 413, code: "payload_too_large"}})
		unsupported := func(header, value string) want {
			accepted := map[string]string{header: "^" + regexp.QuoteMeta(value) + "$"}
			return want{status: 415, code: "unsupported_media_type", header: accepted}
		}
		for _, other := range []string{
			"text/plain", "application/json", "application/merge-patch+json", "application/vnd.api+json", "application/json;;", "",
		} {
			if r := valid; other != o.media {
				r.header = []string{"Content-Type: " + other}
				rows = append(rows, row{"media type " + other, r, unsupported("Accept", o.media)})
			}
		}
		compressed := valid.with("Content-Encoding: gzip")
		rows = append(rows, row{"compressed", compressed, unsupported("Accept-Encoding", "identity")})
	}
	return append(rows, row{"query", query, want{status: 400, code: "invalid_parameter"}})
}

// public are the operations that need no key. All others do, whatever the document says.
var public = []string{}

// everyOperation tests what all operations have in common: the faults of a request,
// after a missing key and a key that may not write.
func (s *suite) everyOperation() (rows []row) {
	for _, o := range s.operations {
		isPublic := slices.Contains(public, o.OperationID)
		valid := row{name: "valid", request: s.request(o, o.unknown("", ""))}
		if isPublic && o.method == http.MethodGet && !strings.Contains(o.template, "{") {
			valid.want = want{status: http.StatusOK}
		}
		for _, f := range append(s.faulty(o), valid) {
			name, withKey := o.OperationID+" "+f.name, f.request
			if !isPublic {
				withKey = withKey.with(bearer(s.Key))
				unauthorized := want{status: 401, code: "unauthorized", header: map[string]string{"WWW-Authenticate": noCredentials}}
				rows = append(rows, row{name + " without a key", f.request, unauthorized})
			}
			if f.want.status != 0 {
				rows = append(rows, row{name, withKey, f.want})
			}
			if !isPublic && s.ReadOnlyKey != "" && o.method != http.MethodGet {
				readOnly := f.request.with(bearer(s.ReadOnlyKey))
				rows = append(rows, row{name + " with a key that may only read", readOnly, want{status: 403, code: "forbidden"}})
			}
		}
	}
	return rows
}

// coverage tests that the cases have seen every response that a client can cause.
// TestSocket causes the 408, because a proxy would wait for the body.
func (s *suite) coverage(t *testing.T) {
	for _, o := range s.operations {
		for status := range o.Responses.Map() {
			caused := status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "")
			if visit := o.OperationID + " " + status; caused && !s.seen[visit] {
				t.Errorf("%s: got no such response, want a case of this package to cause one", visit)
			}
		}
	}
}

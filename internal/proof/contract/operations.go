package contract

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// operation is an operation of the document.
type operation struct {
	*openapi3.Operation
	method, template string
	parameters       []*openapi3.Parameter
	media            string           // of the body
	body             *openapi3.Schema // nil if it has none
	valid            string           // a body
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
					op.valid = encode(another(op.body, nil, 0))
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

// takes reports whether a client gives a property to the operation.
func (o operation) takes(name string) bool { return o.body != nil && o.body.Properties[name] != nil }

// unknown returns an address of an operation. The identifiers are valid, but if the
// template has any, there is no such resource. One of them may be given.
func (o operation) unknown(name, text string) string {
	path := o.template
	for _, p := range o.parameters {
		if p.In == openapi3.ParameterInPath {
			id := unknownTexts(p.Schema.Value)[0]
			if p.Name == name {
				id = text
			}
			path = strings.ReplaceAll(path, "{"+p.Name+"}", url.PathEscape(id))
		}
	}
	return path
}

// request returns a valid request without a key to an address below the base.
func (s *suite) request(o operation, path string) request {
	r := request{method: o.method, target: s.base + path}
	if o.body != nil {
		r.header, r.body = []string{"Content-Type: " + o.media}, o.valid
	}
	return r
}

// to returns a request of an operation with the key.
func (s *suite) to(o operation, path string) request { return s.request(o, path).with(bearer(s.Key)) }

// public are the operations that need no key. All others do, whatever the document says.
var public = []string{}

// everyOperation tests what all operations have in common: the faults of a request,
// after a missing key and a key that may not write.
func (s *suite) everyOperation(t *testing.T) {
	for _, o := range s.operations {
		isPublic := slices.Contains(public, o.OperationID)
		try := func(name string, r request, w want) {
			name = o.OperationID + " " + name
			if !isPublic {
				unauthorized := want{status: 401, header: map[string]string{"WWW-Authenticate": noCredentials}}
				s.try(t, name+" without a key", r, unauthorized)
				if s.ReadOnlyKey != "" && o.method != http.MethodGet {
					s.try(t, name+" with a key that may only read", r.with(bearer(s.ReadOnlyKey)), want{status: 403})
				}
				r = r.with(bearer(s.Key))
			}
			if w.status != 0 {
				s.try(t, name, r, w)
			}
		}
		valid := want{}
		if o.method == http.MethodGet && !strings.Contains(o.template, "{") { // a list may be empty yet
			valid.status = http.StatusOK
		}
		try("valid", s.request(o, o.unknown("", "")), valid)
		s.tryParameters(o, try)
		s.tryBodies(o, try)
	}
}

// tryParameters tries faults of an operation's parameters.
func (s *suite) tryParameters(o operation, try func(string, request, want)) {
	path := o.unknown("", "")
	for _, p := range o.parameters {
		schema, w := p.Schema.Value, want{status: 400, code: "invalid_parameter", message: "^" + p.Name + " "}
		switch p.In {
		case openapi3.ParameterInPath:
			for _, text := range invalidTexts(schema) {
				if text != "" && !strings.Contains(text, "\x00") { // which gateways refuse themselves
					try(p.Name+"="+text, s.request(o, o.unknown(p.Name, text)), w)
				}
			}
			for _, text := range unknownTexts(schema) {
				try("unknown "+p.Name+"="+text, s.request(o, o.unknown(p.Name, text)), want{status: 404})
			}
		case openapi3.ParameterInQuery:
			for _, text := range invalidTexts(schema) {
				try(p.Name+"="+text, s.request(o, path+"?"+url.Values{p.Name: {text}}.Encode()), w)
			}
			if !schema.Type.Is("array") {
				twice := slices.Repeat([]string{textOf(another(schema, nil, 0))}, 2)
				try(p.Name+" twice", s.request(o, path+"?"+url.Values{p.Name: twice}.Encode()), w)
			}
		}
	}
	malformed := s.request(o, path+"?%zz")
	if o.body != nil { // the query is checked before the body
		malformed.header, malformed.body = nil, strings.Repeat(" ", maxBody+1)
	}
	try("query", malformed, want{status: 400, code: "invalid_parameter"})
}

// tryBodies tries bodies that an operation does not read.
func (s *suite) tryBodies(o operation, try func(string, request, want)) {
	if o.body == nil {
		return
	}
	valid := s.request(o, o.unknown("", ""))
	large := valid.with()
	large.header, large.body = nil, strings.Repeat(" ", maxBody+1) // the size is checked before the type
	try("body size", large, want{status: 413})
	unsupported := func(header, value string) want {
		return want{status: 415, header: map[string]string{header: "^" + regexp.QuoteMeta(value) + "$"}}
	}
	for _, media := range []string{
		"", "text/plain", "application/json", "application/json;;", "application/merge-patch+json", "application/vnd.api+json",
	} {
		if other := valid.with(); media != o.media {
			other.header = []string{"Content-Type: " + media}
			try("media type "+media, other, unsupported("Accept", o.media))
		}
	}
	try("compressed", valid.with("Content-Encoding: gzip"), unsupported("Accept-Encoding", "identity"))
}

// coverage tests that the cases have seen every response that a client can cause.
// TestSocket causes the 408, because a proxy would wait for the body.
func (s *suite) coverage(t *testing.T) {
	for _, o := range s.operations {
		for status := range o.Responses.Map() {
			caused := status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "")
			if visit := fmt.Sprintf("%s %s", o.OperationID, status); caused && !s.seen[visit] {
				t.Errorf("%s: got no such response, want a case of this package to cause one", visit)
			}
		}
	}
}

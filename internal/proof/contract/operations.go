package contract

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/property"
)

// operation is an operation of the document.
type operation struct {
	*openapi3.Operation
	method, template string
	body             *openapi3.Schema // nil if it has none
}

// operations returns the operations of the document in a fixed order.
func (s *suite) operations() (all []operation) {
	for template, item := range s.document.Paths.Map() {
		for method, o := range item.Operations() {
			op := operation{Operation: o, method: method, template: template}
			if o.RequestBody != nil {
				op.body = o.RequestBody.Value.Content["application/json"].Schema.Value
			}
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(cmp.Compare(a.template, b.template), cmp.Compare(a.method, b.method))
	})
	return all
}

// collection returns the template without its last parameter, and whether it has one.
func (o operation) collection() (template string, isItem bool) {
	i := strings.LastIndex(o.template, "/{")
	if i < 0 || !strings.HasSuffix(o.template, "}") {
		return o.template, false
	}
	return o.template[:i], true
}

// request returns a valid request without a key. Each parameter of the path is id.
func (s *suite) request(o operation, id string) request {
	segments := strings.Split(o.template, "/")
	for i := range segments {
		if strings.HasPrefix(segments[i], "{") {
			segments[i] = id
		}
	}
	r := request{method: o.method, target: s.base + strings.Join(segments, "/")}
	if o.body != nil {
		r.header, r.body = []string{jsonType}, property.Encode(property.Value(o.body).Example(1))
	}
	return r
}

// faulty returns the faults of a request that are the same in all operations, without a
// key, and what each gets with one.
func (s *suite) faulty(o operation) (rows []row) {
	valid := s.request(o, greatest)
	query := valid
	query.target += "?%zz"
	if strings.Contains(o.template, "{") {
		rows = append(rows,
			row{"identifier", s.request(o, "x"), want{status: 400, code: "invalid_parameter", message: "must be an integer"}},
			row{"unknown", valid, want{status: 404, code: "not_found"}})
	}
	if o.body != nil {
		body, media, size := valid, valid, valid
		body.body = "{"
		media.header = []string{"Content-Type: text/plain"}
		size.body += strings.Repeat(" ", maxBody)
		size.header, query.header, query.body = media.header, media.header, size.body // the query is checked before the size, and that before the type
		rows = append(rows,
			row{"body", body, want{status: 400, code: "invalid_body"}},
			row{"media type", media, want{status: 415, code: "unsupported_media_type", header: map[string]string{"Accept": "^application/json$"}}},
			row{"body size", size, want{status: 413, code: "payload_too_large"}})
	}
	return append(rows, row{"query", query, want{status: 400, code: "invalid_parameter"}})
}

// everyOperation tests what all operations have in common: the faults of a request,
// after a missing key and a key that may not write.
func (s *suite) everyOperation() (rows []row) {
	for _, o := range s.operations() {
		faulty := s.faulty(o)
		for _, f := range faulty {
			rows = append(rows, row{o.OperationID + " " + f.name, f.request.with(bearer(s.Key)), f.want})
		}
		for _, f := range append(faulty, row{name: "valid", request: s.request(o, "1")}) {
			if o.Security != nil && len(*o.Security) == 0 {
				break // it needs no key
			}
			rows = append(rows, row{o.OperationID + " " + f.name + " without a key", f.request, want{status: 401, code: "unauthorized", header: map[string]string{"WWW-Authenticate": noCredentials}}})
			if s.ReadOnlyKey != "" && o.method != http.MethodGet {
				rows = append(rows, row{o.OperationID + " " + f.name + " with a key that may only read", f.request.with(bearer(s.ReadOnlyKey)), want{status: 403, code: "forbidden"}})
			}
		}
	}
	return rows
}

// coverage tests that the cases have seen every response that a client can cause.
// TestSocket causes the 408, because a proxy would wait for the body.
func (s *suite) coverage(t T) {
	for _, o := range s.operations() {
		for status := range o.Responses.Map() {
			caused := status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "")
			if visit := o.OperationID + " " + status; caused && !s.seen[visit] {
				t.Errorf("%s: got no such response, want a case of this package to cause one", visit)
			}
		}
	}
}

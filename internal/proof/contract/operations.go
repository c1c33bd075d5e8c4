package contract

import (
	"cmp"
	"encoding/json"
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
	for template, item := range s.judge.document.Paths.Map() {
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

// isOpen reports whether the operation needs no key.
func (o operation) isOpen() bool { return o.Security != nil && len(*o.Security) == 0 }

// success returns the status of the documented success.
func (o operation) success() int {
	for status := http.StatusOK; status < 300; status++ {
		if o.Responses.Status(status) != nil {
			return status
		}
	}
	return 0
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
		r.header, r.body = []string{jsonType}, encode(property.Value(o.body).Example(1))
	}
	return r
}

// encode returns v as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of the document can be encoded
	}
	return string(text)
}

const greatestID = "9223372036854775807" // no resource has it

// faultyRequests returns a request for each fault that is the same in all operations,
// without a key, and what it gets with one.
func (s *suite) faultyRequests(o operation) map[string]faulty {
	r := s.request(o, greatestID)
	query := r
	query.target += "?%zz"
	all := map[string]faulty{"query": {query, want{status: 400, code: "invalid_parameter"}}}
	if strings.Contains(o.template, "{") {
		all["identifier"] = faulty{s.request(o, "x"), want{status: 400, code: "invalid_parameter", message: "must be an integer"}}
		all["unknown"] = faulty{r, want{status: 404, code: "not_found"}}
	}
	if o.body != nil {
		body, media, size := r, r, r
		body.body = "{"
		media.header = []string{"Content-Type: text/plain"}
		size.body += strings.Repeat(" ", maxBody)
		all["body"] = faulty{body, want{status: 400, code: "invalid_body"}}
		all["media type"] = faulty{media, want{status: 415, code: "unsupported_media_type", header: acceptJSON}}
		all["body size"] = faulty{size, want{status: 413, code: "payload_too_large"}}
		size.header = media.header // the size is checked before the type
		all["body size, media type"] = faulty{size, want{status: 413, code: "payload_too_large"}}
	}
	return all
}

type faulty struct {
	request request
	want    want
}

// everyOperation tests what all operations have in common: the faults of a request,
// after a missing key and a key that may not write.
func (s *suite) everyOperation(t runner) {
	for _, o := range s.operations() {
		requests := s.faultyRequests(o)
		for name, f := range requests {
			t.Run(o.OperationID+" "+name, func(t reporter) {
				s.expect(t, f.request.with(s.auth()), f.want)
			})
		}
		requests["valid"] = faulty{request: s.request(o, "1")}
		for name, f := range requests {
			if o.isOpen() {
				break
			}
			t.Run(o.OperationID+" "+name+" without a key", func(t reporter) {
				s.expect(t, f.request, want{status: 401, code: "unauthorized", header: map[string]string{"WWW-Authenticate": noCredentials}})
			})
			if s.ReadOnlyKey == "" || o.method == http.MethodGet {
				continue
			}
			t.Run(o.OperationID+" "+name+" with a key that may only read", func(t reporter) {
				s.expect(t, f.request.with("Authorization: Bearer "+s.ReadOnlyKey), want{status: 403, code: "forbidden"})
			})
		}
	}
	for template, item := range s.judge.document.Paths.Map() {
		path := s.base + strings.NewReplacer("{", "", "}", "").Replace(template)
		for _, method := range []string{"PUT", "PATCH", "DELETE", "TRACE", "FOO", "get"} {
			if item.Operations()[method] != nil {
				continue
			}
			t.Run(method+" "+template, func(t reporter) {
				for _, header := range [][]string{nil, {s.auth()}} {
					s.expect(t, request{method: method, target: path, header: header}, want{status: 405, code: "method_not_allowed"})
				}
			})
		}
		t.Run("OPTIONS "+template, func(t reporter) {
			s.expect(t, request{method: http.MethodOptions, target: path}, want{status: 204})
		})
	}
}

// coverage tests that the cases have seen every response that a client can cause.
// TestSocket causes the 408, because a proxy would wait for the body.
func (s *suite) coverage(t reporter) {
	for _, o := range s.operations() {
		for status := range o.Responses.Map() {
			caused := status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "")
			if visit := o.OperationID + " " + status; caused && !s.judge.seen[visit] {
				t.Errorf("%s: got no such response, want a case of this package to cause one", visit)
			}
		}
	}
}

package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxBody is the size of a body that the document promises.
const maxBody = 64 << 10

// operation is an operation of the document.
type operation struct {
	*openapi3.Operation
	method, path string // the path has the examples of its parameters
	parameters   []*openapi3.Parameter
}

// operations returns the operations to which a request can be made from the document
// alone: each parameter that is required is in the path and has an example.
func (s *suite) operations() (all []operation) {
	for template, item := range s.document.Paths.Map() {
		for method, o := range item.Operations() {
			op := operation{o, method, s.base + template, nil}
			known := true
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				op.parameters = append(op.parameters, p.Value)
				known = known && (!p.Value.Required || p.Value.In == openapi3.ParameterInPath && p.Value.Example != nil)
				op.path = strings.ReplaceAll(op.path, "{"+p.Value.Name+"}", url.PathEscape(fmt.Sprint(p.Value.Example)))
			}
			if known {
				all = append(all, op)
			}
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.method, b.method))
	})
	return all
}

// parameters tests of every operation that texts which are not valid for a parameter are
// refused, and that a list needs none.
func (s *suite) parameters(t *testing.T) {
	for _, o := range s.operations() {
		send := o.method + " " + o.path
		if o.method == http.MethodGet && !strings.Contains(send, "{") && o.Responses.Status(200) != nil && o.items() != nil {
			s.try(t, testCase{send: send, want: "200"})
		}
		for _, p := range o.parameters {
			refused := testCase{want: "400 invalid_parameter", says: p.Name}
			for _, text := range invalidTexts(p.Schema.Value) {
				switch {
				case p.In == openapi3.ParameterInQuery:
					refused.send = send + "?" + url.Values{p.Name: {text}}.Encode()
				case p.In == openapi3.ParameterInPath && text != "" && !strings.Contains(text, "\x00"): // which gateways refuse
					refused.send = strings.Replace(send, "/"+fmt.Sprint(p.Example), "/"+url.PathEscape(text), 1)
				default:
					continue
				}
				s.try(t, refused)
			}
			if good, _ := values(p.Schema.Value); p.In == openapi3.ParameterInQuery && len(good) > 0 {
				one := url.Values{p.Name: {strings.Trim(good[0], `"`)}}.Encode()
				refused.send = send + "?" + one + "&" + one
				s.try(t, refused)
			}
		}
	}
}

// bodies tests of every operation that takes an object as JSON which bodies it refuses.
func (s *suite) bodies(t *testing.T) {
	for _, o := range s.operations() {
		if o.RequestBody == nil || o.RequestBody.Value.Content["application/json"] == nil {
			continue
		}
		send, schema := o.method+" "+o.path, o.RequestBody.Value.Content["application/json"].Schema.Value
		valid := map[string]any{}
		for _, name := range schema.Required {
			valid[name] = schema.Properties[name].Value.Example
		}
		whole := encode(valid)
		with := func(member string) string { return strings.Replace(whole, "{", "{"+member+",", 1) }
		spaces := strings.Repeat(" ", maxBody+1)
		for _, c := range []testCase{
			{body: "", want: "400 invalid_body"},
			{body: "{", want: "400 invalid_body"},
			{body: "[]", want: "400 invalid_body"},
			{body: whole + "{}", want: "400 invalid_body"},
			{body: "\ufeff" + whole, want: "400 invalid_body"},
			{body: with(`"x":1,"x":1`), want: "400 invalid_body"},
			{body: with("\"x\":\"\xff\""), want: "400 invalid_body"},
			{body: with(`"x":"\ud800"`), want: "400 invalid_body"},
			{body: with(`"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), want: "400 invalid_body", says: "100"},
			{body: spaces, want: "413 payload_too_large"},
			{send: "\nContent-Type: ", body: whole, want: unsupportedType},
			{send: "\nContent-Type: text/plain", body: whole, want: unsupportedType},
			{send: "\nContent-Type: application/json;;", body: whole, want: unsupportedType},
			{send: "\nContent-Type: application/vnd.api+json", body: whole, want: unsupportedType},
			{send: "\nContent-Type: application/json\nContent-Type: text/plain", body: whole, want: unsupportedType},
			{send: "\nContent-Encoding: gzip", body: whole, want: unsupportedType, header: "Accept-Encoding: identity"},
			// The checks come in this order, after those of the key.
			{send: "?%zz\nContent-Type: text/plain", body: spaces, want: "400 invalid_parameter"},
			{send: "\nContent-Type: text/plain", body: spaces, want: "413 payload_too_large"},
			{send: "\nContent-Type: text/plain", body: "{", want: unsupportedType},
		} {
			if c.want == unsupportedType && c.header == "" {
				c.header = "Accept: application/json"
			}
			c.send = send + cmp.Or(c.send, "\nContent-Type: application/json")
			s.try(t, c)
		}
		for name, p := range schema.Properties {
			refused := testCase{send: send, want: "400 invalid_body", says: name}
			body := maps.Clone(valid)
			_, bad := values(p.Value)
			for _, v := range bad {
				body[name] = json.RawMessage(v)
				refused.body = encode(body)
				s.try(t, refused)
			}
			if slices.Contains(schema.Required, name) {
				delete(body, name)
				body[strings.ToUpper(name)] = valid[name] // names match exactly
				refused.body = encode(body)
				s.try(t, refused)
			}
		}
	}
}

const unsupportedType = "415 unsupported_media_type"

// items returns the schema of what the operation lists, or nil.
func (o operation) items() *openapi3.Schema {
	if r := o.Responses.Status(200); r != nil && r.Value.Content["application/json"] != nil {
		if schema := r.Value.Content["application/json"].Schema.Value; schema.Type.Is("array") {
			return schema.Items.Value
		}
	}
	return nil
}

var nextLink = regexp.MustCompile(`(?:^|, )<([^<>]*)>; rel="next"`)

// page returns a page of a list and the target of the next, or "".
func (s *suite) page(t *testing.T, target string) (page []any, next string) {
	t.Helper()
	got := s.expect(t, testCase{send: "GET " + target + "\n" + bearer(s.Key), want: "200"})
	page, _ = decode(got.body).([]any)
	if m := nextLink.FindStringSubmatch(strings.Join(got.Header.Values("Link"), ", ")); m != nil {
		u, err := url.Parse(m[1])
		assert(t, err == nil && len(page) > 0, "%s: got the link %s after %d, want one that follows something", target, m[1], len(page))
		next = u.RequestURI()
	}
	return page, next
}

// walk returns what all pages of a list have, none of which may have more than limit.
func (s *suite) walk(t *testing.T, target string, limit int) (all []any) {
	t.Helper()
	for seen := map[string]bool{}; target != ""; {
		page, next := s.page(t, target)
		if seen[target] || len(page) > limit {
			t.Fatalf("%s: got a page of %d, want at most %d, and each page once", target, len(page), limit)
		}
		seen[target] = true
		all, target = append(all, page...), next
	}
	return all
}

// lists tests of every list with a limit that walks with any limit return the same, and
// that filters by a property select what has the value, if only certain values are valid.
func (s *suite) lists(t *testing.T) {
	for _, o := range s.operations() {
		i := slices.IndexFunc(o.parameters, func(p *openapi3.Parameter) bool { return p.Name == "limit" && p.Schema.Value.Max != nil })
		if o.method != http.MethodGet || o.items() == nil || i < 0 {
			continue
		}
		most := int(*o.parameters[i].Schema.Value.Max)
		all := s.walk(t, fmt.Sprintf("%s?limit=%d", o.path, most), most)
		for _, limit := range []int{1, 7} {
			got := s.walk(t, fmt.Sprintf("%s?limit=%d", o.path, limit), limit)
			assert(t, reflect.DeepEqual(got, all), "%s: got %d with the limit %d, want %d as with %d", o.OperationID, len(got), limit, len(all), most)
		}
		for _, p := range o.parameters {
			property := o.items().Properties[p.Name]
			if property == nil || p.Schema.Value.Enum == nil {
				continue
			}
			for _, value := range p.Schema.Value.Enum {
				var want []any
				for _, v := range all {
					if v.(map[string]any)[p.Name] == value {
						want = append(want, v)
					}
				}
				got := s.walk(t, fmt.Sprintf("%s?limit=1&%s=%v", o.path, p.Name, value), 1)
				assert(t, reflect.DeepEqual(got, want), "%s: got %d with %s=%v, want the %d that have it", o.OperationID, len(got), p.Name, value, len(want))
			}
		}
	}
}

// coverage tests that the cases have seen every response that a client can cause, every
// header of a success, and every property of a schema. TestSocket causes the 408, because
// a proxy would wait for the body.
func (s *suite) coverage(t *testing.T) {
	for _, item := range s.document.Paths.Map() {
		for _, o := range item.Operations() {
			for status, r := range o.Responses.Map() {
				caused := status != "408" && status != "429" && status < "500" && (status != "403" || s.ReadOnlyKey != "")
				place := o.OperationID + " " + status
				assert(t, !caused || s.seen[place], "%s: got no such response, want a case in cases.go that causes one", place)
				for name := range r.Value.Headers {
					assert(t, status >= "300" || s.seen[place+" "+name], "%s: got no header %s, want it at least once", place, name)
				}
			}
		}
	}
	for name, schema := range s.document.Components.Schemas {
		place := "#/components/schemas/" + name
		for property, p := range schema.Value.Properties {
			missing := s.seen[place] && !s.seen[place+"."+property] && !p.Value.WriteOnly
			assert(t, !missing, "%s: got no %s in any response, want it at least once", name, property)
		}
	}
}

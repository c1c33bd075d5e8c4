package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
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
	send       string // method and path; the path has the examples of its parameters
	known      bool   // there are no other parameters that are required
	parameters []*openapi3.Parameter
}

// operations returns the operations of the document.
func (s *suite) operations() (all []operation) {
	for template, item := range s.document.Paths.Map() {
		for method, o := range item.Operations() {
			op := operation{o, method + " " + s.base + template, true, nil}
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				op.parameters = append(op.parameters, p.Value)
				op.known = op.known && (!p.Value.Required || p.Value.In == openapi3.ParameterInPath && p.Value.Example != nil)
				op.send = strings.ReplaceAll(op.send, "{"+p.Value.Name+"}", url.PathEscape(fmt.Sprint(p.Value.Example)))
			}
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int { return cmp.Compare(a.send, b.send) })
	return all
}

// list returns the path of the list that the operation returns, and the schema of what is
// in it, or nil if it returns no list or needs to be told of what.
func (o operation) list() (path string, items *openapi3.Schema) {
	path, isGet := strings.CutPrefix(o.send, "GET ")
	r := o.Responses.Status(200)
	inPath := func(p *openapi3.Parameter) bool { return p.In == openapi3.ParameterInPath }
	if !isGet || !o.known || r == nil || r.Value.Content["application/json"] == nil || slices.ContainsFunc(o.parameters, inPath) {
		return "", nil
	}
	if schema := r.Value.Content["application/json"].Schema.Value; schema.Type.Is("array") {
		items = schema.Items.Value
	}
	return path, items
}

// parameters tests of every operation that it needs a key, and refuses texts that are not
// valid for a parameter; and that a list needs no parameter.
func (s *suite) parameters(t *testing.T) {
	for _, o := range s.operations() {
		if _, items := o.list(); items != nil {
			s.try(t, testCase{send: o.send, want: "200"})
		} else if o.Security == nil || len(*o.Security) > 0 {
			s.expect(t, testCase{send: o.send, want: "401 unauthorized", header: noCredentials})
		}
		for _, p := range o.parameters {
			texts := invalidTexts(p.Schema.Value)
			if !o.known || p.In == openapi3.ParameterInHeader {
				texts = nil
			}
			for _, text := range texts {
				c := testCase{send: o.send + "?" + url.Values{p.Name: {text}}.Encode(), want: "400 invalid_parameter", says: p.Name}
				if p.In == openapi3.ParameterInPath {
					if text == "" || strings.Contains(text, "\x00") {
						continue // gateways refuse it themselves
					}
					c.send = strings.Replace(o.send, "/"+fmt.Sprint(p.Example), "/"+url.PathEscape(text), 1)
				}
				s.try(t, c)
			}
		}
	}
}

// bodies tests of every operation that takes an object as JSON which bodies it refuses.
func (s *suite) bodies(t *testing.T) {
	for _, o := range s.operations() {
		if !o.known || o.RequestBody == nil || o.RequestBody.Value.Content["application/json"] == nil {
			continue
		}
		schema := o.RequestBody.Value.Content["application/json"].Schema.Value
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
			c.send = o.send + cmp.Or(c.send, "\nContent-Type: application/json")
			s.try(t, c)
		}
		for name, p := range schema.Properties {
			refused := testCase{send: o.send, want: "400 invalid_body", says: name}
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
		path, items := o.list()
		limited := func(p *openapi3.Parameter) bool { return p.Name == "limit" && p.Schema.Value.Max != nil }
		i := slices.IndexFunc(o.parameters, limited)
		if items == nil || i < 0 {
			continue
		}
		most := int(*o.parameters[i].Schema.Value.Max)
		all := s.walk(t, fmt.Sprintf("%s?limit=%d", path, most), most)
		for _, limit := range []int{1, 7} {
			got := s.walk(t, fmt.Sprintf("%s?limit=%d", path, limit), limit)
			assert(t, reflect.DeepEqual(got, all), "%s: got %d with the limit %d, want %d as with %d", path, len(got), limit, len(all), most)
		}
		for _, p := range o.parameters {
			property := items.Properties[p.Name]
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
				got := s.walk(t, fmt.Sprintf("%s?limit=1&%s=%v", path, p.Name, value), 1)
				assert(t, reflect.DeepEqual(got, want), "%s: got %d with %s=%v, want the %d that have it", path, len(got), p.Name, value, len(want))
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

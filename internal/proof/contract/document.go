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
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxBody is the size of a body that the document promises.
const maxBody = 64 << 10

// operation is an operation of the document.
type operation struct {
	*openapi3.Operation
	method, template string
	parameters       []*openapi3.Parameter
}

// operations returns the operations of the document.
func (s *suite) operations() (all []operation) {
	for template, item := range s.document.Paths.Map() {
		for method, o := range item.Operations() {
			op := operation{Operation: o, method: method, template: s.base + template}
			for _, p := range slices.Concat(item.Parameters, o.Parameters) {
				op.parameters = append(op.parameters, p.Value)
			}
			all = append(all, op)
		}
	}
	slices.SortFunc(all, func(a, b operation) int {
		return cmp.Or(cmp.Compare(a.template, b.template), cmp.Compare(a.method, b.method))
	})
	return all
}

// send returns the first line of a request, in which parameters of the path have the values
// of their examples, but for the named one.
func (o operation) send(name, value string) string {
	line := o.method + " " + o.template
	for _, p := range o.parameters {
		text := fmt.Sprint(p.Example)
		if p.Name == name {
			text = value
		}
		line = strings.ReplaceAll(line, "{"+p.Name+"}", url.PathEscape(text))
	}
	return line
}

// isKnown reports whether such a request needs no other parameters.
func (o operation) isKnown() bool {
	return !slices.ContainsFunc(o.parameters, func(p *openapi3.Parameter) bool {
		return p.Required && (p.In != openapi3.ParameterInPath || p.Example == nil)
	})
}

// items returns the schema of what the operation lists, or nil if it does not, or not
// without a parameter.
func (o operation) items() *openapi3.Schema {
	r := o.Responses.Status(http.StatusOK)
	if o.method != http.MethodGet || !o.isKnown() || strings.Contains(o.template, "{") || r == nil {
		return nil
	}
	content := r.Value.Content["application/json"]
	if content == nil || !content.Schema.Value.Type.Is("array") {
		return nil
	}
	return content.Schema.Value.Items.Value
}

// parameters tests of every operation that it needs a key, and refuses texts that are not
// valid for a parameter; and that a list needs no parameter.
func (s *suite) parameters(t *testing.T) {
	for _, o := range s.operations() {
		send := o.send("", "")
		if o.items() != nil {
			s.try(t, testCase{send: send, want: "200"})
		} else if isPrivate(o.Operation) {
			s.expect(t, testCase{send: send, want: "401 unauthorized", header: noCredentials})
		}
		for _, p := range o.parameters {
			for _, text := range invalidTexts(p.Schema.Value) {
				c := testCase{send: o.send(p.Name, text), want: "400 invalid_parameter", says: p.Name}
				if p.In == openapi3.ParameterInQuery {
					c.send = send + "?" + url.Values{p.Name: {text}}.Encode()
				}
				refused := text == "" || strings.Contains(text, "\x00") // by gateways, in a path
				if o.isKnown() && (p.In == openapi3.ParameterInQuery || p.In == openapi3.ParameterInPath && !refused) {
					s.try(t, c)
				}
			}
		}
	}
}

// bodies tests of every operation that takes an object as JSON which bodies it refuses.
func (s *suite) bodies(t *testing.T) {
	for _, o := range s.operations() {
		if !o.isKnown() || o.RequestBody == nil || o.RequestBody.Value.Content["application/json"] == nil {
			continue
		}
		schema, send := o.RequestBody.Value.Content["application/json"].Schema.Value, o.send("", "")
		valid, hasExamples := object{}, schema.Type.Is("object")
		for _, name := range schema.Required {
			valid[name] = schema.Properties[name].Value.Example
			hasExamples = hasExamples && valid[name] != nil
		}
		if !hasExamples {
			continue
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
			{send: "\nContent-Type: ", body: whole, want: unsupportedType, says: "none"},
			{send: "\nContent-Type: text/\tplain" + strings.Repeat("x", 300), body: whole, want: unsupportedType, says: `text/\tplain`},
			{send: "\nContent-Type: application/json;;", body: whole, want: unsupportedType},
			{send: "\nContent-Type: application/vnd.api+json", body: whole, want: unsupportedType},
			{send: "\nContent-Type: application/json\nContent-Type: text/plain", body: whole, want: unsupportedType},
			{send: "\nContent-Encoding: gzip" + strings.Repeat("x", 300), body: whole, want: unsupportedType, says: "gzip", header: "Accept-Encoding: identity"},
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
		limited := func(p *openapi3.Parameter) bool { return p.Name == "limit" && p.Schema.Value.Max != nil }
		i, path := slices.IndexFunc(o.parameters, limited), o.template
		if o.items() == nil || i < 0 {
			continue
		}
		most := int(*o.parameters[i].Schema.Value.Max)
		all := s.walk(t, fmt.Sprintf("%s?limit=%d", path, most), most)
		for _, limit := range []int{1, 7} {
			got := s.walk(t, fmt.Sprintf("%s?limit=%d", path, limit), limit)
			assert(t, reflect.DeepEqual(got, all), "%s: got %d with the limit %d, want %d as with %d", path, len(got), limit, len(all), most)
		}
		for _, p := range o.parameters {
			property := o.items().Properties[p.Name]
			if property == nil || p.Schema.Value.Enum == nil {
				continue
			}
			for _, value := range p.Schema.Value.Enum {
				var want []any
				for _, v := range all {
					if v.(object)[p.Name] == value {
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
					docs := o.Deprecated && name == "Link" // the page may have been removed
					assert(t, docs || status >= "300" || s.seen[place+" "+name], "%s: got no header %s, want it at least once", place, name)
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

// odd holds characters that a database, driver or encoding may change.
const odd = " 0Aß\u0301🐕👩🏽‍🚀ש\u202e\u2028\r\n\t\x01\x7f\ufeff\"'`\\,;=%&<?$:{\ufffd\U0010ffff "

// candidates are JSON values of all types.
var candidates = []string{
	`"lost"`, `"LOST"`, `"+5"`, `"05"`, `"５"`, `"1/2"`, `"T"`, encode(odd), `"a\u0000b"`, `""`,
	`5`, `1`, `0`, `-1`, `7.5`, `7.0`, `1e2`, `1e300`, `2147483647`, `-2147483648`, `2147483648`, `9007199254740993`,
	`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `true`, `false`, `[]`, `{}`, `null`,
}

// values returns JSON values that are valid for a schema, and others that are not. Of a
// schema with a format for text, and of one that is no text and no integer, it knows only
// the example, and values of other types.
func values(s *openapi3.Schema) (good, bad []string) {
	all := slices.Clone(candidates)
	for _, v := range s.Enum {
		all = append(all, encode(v))
		if text, isText := v.(string); isText {
			all = append(all, encode(strings.ToUpper(text)), encode(text+" "))
		}
	}
	for _, limit := range []*float64{s.Min, s.Max} {
		if limit != nil {
			all = append(all, encode(*limit-1), encode(*limit), encode(*limit+1))
		}
	}
	known := s.Type.Is("string") && s.Format == "" || s.Type.Is("integer")
	for _, text := range all {
		if !isValid(s, text) {
			bad = append(bad, text)
		} else if known && text != "null" {
			good = append(good, text)
		}
	}
	if len(good) == 0 && s.Example != nil {
		good = []string{encode(s.Example)}
	}
	return good, bad
}

// isValid reports whether a JSON value is valid for s. An integer is an int64 or int32,
// written in digits.
func isValid(s *openapi3.Schema, text string) bool {
	v := decode(text)
	if number, isNumber := v.(json.Number); isNumber && s.Type.Is("integer") {
		bits := 64
		if s.Format == "int32" {
			bits = 32
		}
		if _, err := strconv.ParseInt(number.String(), 10, bits); err != nil {
			return false
		}
	}
	return s.VisitJSON(v) == nil
}

// invalidTexts returns texts that are not valid for a parameter; none if it may be given
// as a list or an object.
func invalidTexts(s *openapi3.Schema) (all []string) {
	if s.Type.Is("array") || s.Type.Is("object") {
		return nil
	}
	for _, v := range slices.Concat(values(s)) {
		text, isText := decode(v).(string)
		if !isText {
			text = v
		}
		value := text
		if s.Type.Is("string") {
			value = encode(text)
		}
		if !isValid(s, value) && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// encode returns v as JSON.
func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // values of the document can be encoded
	}
	return string(text)
}

// decode decodes JSON and keeps numbers as written. It returns nil if text is no JSON.
func decode(text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil || d.More() {
		return nil
	}
	return v
}

package contract

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
)

// parameters returns the parameters of an operation.
func parameters(r *routers.Route) (all []*openapi3.Parameter) {
	for _, p := range slices.Concat(r.PathItem.Parameters, r.Operation.Parameters) {
		all = append(all, p.Value)
	}
	return all
}

// parameter returns the parameter of an operation with this name, or nil.
func parameter(r *routers.Route, name string) *openapi3.Parameter {
	for _, p := range parameters(r) {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// request returns a request to an operation with these texts for the named parameter, if any, and examples
// of the others that are required. It reports whether the document has these examples.
func request(r *routers.Route, name string, texts ...string) (send string, callable bool) {
	target, query, header := r.Path, url.Values{}, ""
	for _, p := range parameters(r) {
		values, example := texts, cmp.Or(p.Example, exampleOf(p.Schema.Value))
		switch {
		case p.Name == name:
		case !p.Required:
			continue
		case example == nil:
			return "", false
		default:
			values = []string{fmt.Sprint(example)}
		}
		switch p.In {
		case openapi3.ParameterInPath:
			target = strings.ReplaceAll(target, "{"+p.Name+"}", url.PathEscape(values[0]))
		case openapi3.ParameterInQuery:
			query[p.Name] = values
		default:
			header += "\n" + p.Name + ": " + values[0]
		}
	}
	if len(query) > 0 {
		target += "?" + query.Encode()
	}
	return r.Method + " " + target + header, true
}

// exampleOf returns the example of a schema, or the first of its only values.
func exampleOf(s *openapi3.Schema) any {
	if s.Example == nil && len(s.Enum) > 0 {
		return s.Enum[0]
	}
	return s.Example
}

// requestContent returns the content of the body of a request; nil if it has none.
func requestContent(r *routers.Route) openapi3.Content {
	if r.Operation.RequestBody == nil {
		return nil
	}
	return r.Operation.RequestBody.Value.Content
}

// content returns the content that the document has for a response; nil if it has none.
func (got Response) content() openapi3.Content {
	if got.route == nil || got.route.Operation.Responses.Status(got.StatusCode) == nil {
		return nil
	}
	return got.route.Operation.Responses.Status(got.StatusCode).Value.Content
}

var jsonTypes = regexp.MustCompile(`^application/([a-z0-9.-]+\+)?json$`)

// jsonBody returns the media type and the schema of a body that is JSON, or "" and an empty schema.
func jsonBody(content openapi3.Content) (media string, s *openapi3.Schema) {
	for _, media := range slices.Sorted(maps.Keys(content)) {
		if jsonTypes.MatchString(media) {
			return media, content[media].Schema.Value
		}
	}
	return "", openapi3.NewSchema()
}

// parameters tests that each operation refuses invalid texts, and a parameter of the query that is given twice.
func (s *Suite) parameters(t *testing.T) {
	for _, r := range s.operations {
		for _, p := range parameters(r) {
			inQuery := p.In == openapi3.ParameterInQuery
			if !inQuery && p.In != openapi3.ParameterInPath {
				continue
			}
			for _, texts := range invalidTexts(p.Schema.Value) {
				if !inQuery && (texts[0] == "" || strings.Contains(texts[0], "\x00")) { // which gateways refuse
					continue
				}
				if send, callable := request(r, p.Name, texts...); callable {
					s.Try(t, Case{Send: send, Want: "400 invalid_parameter", Says: p.Name})
				}
			}
			example := fmt.Sprint(cmp.Or(p.Example, exampleOf(p.Schema.Value)))
			if send, callable := request(r, p.Name, example, example); callable && inQuery && !p.Schema.Value.Type.Is("array") {
				s.Try(t, Case{Send: send, Want: "400 invalid_parameter", Says: p.Name + " once"})
			}
		}
	}
}

// BodyOf returns a JSON body for a schema, with properties such as `"title":"Emma"`, and with examples of
// others that are required.
func BodyOf(schema *openapi3.Schema, properties ...string) string {
	schema = branches(schema)[0]
	for _, name := range schema.Required {
		has := func(p string) bool { return strings.HasPrefix(p, strconv.Quote(name)+":") }
		if !slices.ContainsFunc(properties, has) {
			properties = append(properties, strconv.Quote(name)+":"+Encode(exampleOf(schema.Properties[name].Value)))
		}
	}
	return "{" + strings.Join(properties, ",") + "}"
}

// branches returns the objects that a schema may be, with what allOf combines.
func branches(s *openapi3.Schema) (all []*openapi3.Schema) {
	for _, branch := range slices.Concat(s.OneOf, s.AnyOf) {
		all = append(all, branches(branch.Value)...)
	}
	if len(all) > 0 {
		return all
	}
	whole := &openapi3.Schema{Type: s.Type, Properties: openapi3.Schemas{}, Required: s.Required}
	maps.Copy(whole.Properties, s.Properties)
	for _, part := range s.AllOf {
		one := branches(part.Value)[0]
		whole.Type, whole.Required = cmp.Or(whole.Type, one.Type), slices.Concat(whole.Required, one.Required)
		maps.Copy(whole.Properties, one.Properties)
	}
	return append(all, whole)
}

// bodies tests of every operation which bodies it refuses, and that it accepts most valid values of properties.
func (s *Suite) bodies(t *testing.T) {
	for _, r := range s.operations {
		content := requestContent(r)
		send, callable := request(r, "")
		if content == nil || !callable {
			continue
		}
		isJSON, schema := jsonBody(content)
		whole, sent, accepted := BodyOf(schema), 0, 0 // valid values
		accept := "Accept: " + regexp.QuoteMeta(strings.Join(slices.Sorted(maps.Keys(content)), ", "))
		spaces := strings.Repeat(" ", s.MaxBody+1)
		refuse := func(media, body, says string) {
			t.Helper()
			s.Try(t, Case{Send: send + "\nContent-Type: " + media, Body: body, Want: "400 invalid_body", Says: says})
		}
		for media := range content {
			if r.Operation.RequestBody.Value.Required {
				refuse(strings.Replace(media, "*", "x", 1), "", "")
			}
		}
		for _, c := range []Case{
			{Send: "\nContent-Type: ", Body: whole},
			{Send: "\nContent-Type: text/\tplain" + strings.Repeat("x", 300), Body: whole},
			{Send: "\nContent-Type: application/json;;", Body: whole},
			{Send: "\nContent-Type: application/vnd.api+json", Body: whole},
			{Send: "\nContent-Type: application/json\nContent-Type: text/plain", Body: whole},
			{Send: "\nContent-Encoding: identity\nContent-Encoding: gzip" + strings.Repeat("x", 300), Body: whole, Header: "Accept-Encoding: identity"},
			// The checks come in this order, after those of the key.
			{Send: "\nContent-Type: no/type", Body: spaces, Want: "413 payload_too_large"},
			{Send: "\nContent-Type: no/type", Body: "{"},
		} {
			if c.Want == "" {
				c.Want, c.Header = "415 unsupported_media_type", cmp.Or(c.Header, accept)
			}
			c.Send = send + c.Send
			s.Try(t, c)
		}
		malformed := strings.Replace(send+"\n", "\n", "?%zz\n", 1) + "Content-Type: no/type"
		s.Try(t, Case{Send: malformed, Body: spaces, Want: "400 invalid_parameter"})
		for _, object := range branches(schema) {
			if !object.Type.Is("object") {
				continue
			}
			whole := BodyOf(object)
			s.Assert(t, !strings.Contains(whole, ":null"), "%s: got %s, want an example of what is required", send, whole)
			for _, body := range []string{
				"{", "[]", whole + "{}", "\ufeff" + whole,
				BodyOf(object, `"x":1`, `"x":1`), BodyOf(object, "\"x\":\"\xff\""), BodyOf(object, `"x":"\ud800"`),
				BodyOf(object, `"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)),
			} {
				refuse(isJSON, body, "")
			}
			names := slices.Sorted(maps.Keys(object.Properties))
			for _, name := range append(names, names[:min(1, len(names))]...) { // the first one twice: none may change another
				says, p := name, object.Properties[name]
				if len(schema.OneOf) > 0 && schema.Discriminator == nil {
					says = "" // of a branch that nobody knows
				}
				good, bad := valuesOf(p.Value)
				for _, v := range bad {
					refuse(isJSON, BodyOf(object, Encode(name)+":"+v), says)
				}
				for _, v := range good { // which may conflict with what is there
					got := s.Try(t, Case{Send: send + "\nContent-Type: " + isJSON, Body: BodyOf(object, Encode(name)+":"+v)})
					ok := got.StatusCode < 500 && got.StatusCode != http.StatusBadRequest
					got.Assert(t, ok, "got %.200s, want no such status", got.Body)
					sent++
					if got.StatusCode < 300 {
						accepted++
					}
				}
				if slices.Contains(object.Required, name) { // names match exactly
					refuse(isJSON, strings.Replace(whole, Encode(name), Encode(strings.ToUpper(name)), 1), says)
				}
			}
		}
		s.seen[r.Operation.OperationID+" values"] = 2*accepted >= sent // and stored
	}
}

// due returns what is to be tested of an operation beside its responses.
func due(r *routers.Route) (all []string) {
	all = append(all, " examples") // of what it requires
	if r.Method != http.MethodGet {
		all = append(all, " read back")
	}
	if media, _ := jsonBody(requestContent(r)); media != "" {
		all = append(all, " values")
	}
	if parameter(r, "Idempotency-Key") != nil {
		all = append(all, " repeat")
	}
	if r.Method != http.MethodGet || parameter(r, "limit") == nil {
		return all
	}
	l, _ := listOf(r)
	for _, p := range parameters(r) {
		if p.In == openapi3.ParameterInQuery && p.Name != "limit" && p.Name != l.cursor {
			all = append(all, placeOf(p)+" effect")
		}
	}
	return append(all, " walk")
}

package contract

import (
	"cmp"
	"fmt"
	"maps"
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

// takes reports whether an operation has a parameter with this name.
func takes(r *routers.Route, name string) bool {
	return slices.ContainsFunc(parameters(r), func(p *openapi3.Parameter) bool { return p.Name == name })
}

// pathWith returns the path of a request with these identifiers, but for the named one.
func pathWith(r *routers.Route, ids map[string]string, name, value string) string {
	path := strings.ReplaceAll(r.Path, "{"+name+"}", url.PathEscape(value))
	for name, value := range ids {
		path = strings.ReplaceAll(path, "{"+name+"}", url.PathEscape(value))
	}
	return path
}

// examples returns the identifiers that the document has as examples. It reports whether an operation
// can be called with them, and without other parameters.
func examples(r *routers.Route) (ids map[string]string, callable bool) {
	ids = map[string]string{}
	for _, p := range parameters(r) {
		if p.Required && (p.In != openapi3.ParameterInPath || p.Example == nil) {
			return nil, false
		}
		ids[p.Name] = fmt.Sprint(p.Example)
	}
	return ids, true
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

// parameters tests of every operation that it refuses texts that are not valid for a
// parameter, and a parameter of the query that is given twice.
func (s *Suite) parameters(t *testing.T) {
	for _, r := range s.operations {
		ids, callable := examples(r)
		for _, p := range parameters(r) {
			inQuery := p.In == openapi3.ParameterInQuery
			if !callable || !inQuery && p.In != openapi3.ParameterInPath {
				continue
			}
			for _, text := range invalidTexts(p.Schema.Value) {
				send := r.Method + " " + pathWith(r, ids, p.Name, text)
				if inQuery {
					send += "?" + url.Values{p.Name: {text}}.Encode()
				} else if text == "" || strings.Contains(text, "\x00") { // which gateways refuse
					continue
				}
				s.Try(t, Case{Send: send, Want: "400 invalid_parameter", Says: p.Name})
			}
			if inQuery && !p.Schema.Value.Type.Is("array") {
				twice := url.Values{p.Name: {fmt.Sprint(p.Example), fmt.Sprint(p.Example)}}
				send := r.Method + " " + pathWith(r, ids, "", "") + "?" + twice.Encode()
				s.Try(t, Case{Send: send, Want: "400 invalid_parameter", Says: p.Name + " once"})
			}
		}
	}
}

// BodyOf returns a JSON body for a schema, with properties such as `"title":"Emma"`, and with examples of
// others that are required.
func BodyOf(schema *openapi3.Schema, properties ...string) string {
	for _, name := range schema.Required {
		has := func(p string) bool { return strings.HasPrefix(p, strconv.Quote(name)+":") }
		if !slices.ContainsFunc(properties, has) {
			properties = append(properties, strconv.Quote(name)+":"+Encode(schema.Properties[name].Value.Example))
		}
	}
	return "{" + strings.Join(properties, ",") + "}"
}

// bodies tests of every operation which bodies it refuses.
func (s *Suite) bodies(t *testing.T) {
	for _, r := range s.operations {
		content := requestContent(r)
		ids, callable := examples(r)
		if content == nil || !callable {
			continue
		}
		isJSON, object := jsonBody(content)
		send, whole := r.Method+" "+pathWith(r, ids, "", ""), BodyOf(object)
		accepted := "Accept: " + regexp.QuoteMeta(strings.Join(slices.Sorted(maps.Keys(content)), ", "))
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
			{Send: "\nContent-Encoding: gzip" + strings.Repeat("x", 300), Body: whole, Header: "Accept-Encoding: identity"},
			// The checks come in this order, after those of the key.
			{Send: "?%zz\nContent-Type: no/type", Body: spaces, Want: "400 invalid_parameter"},
			{Send: "\nContent-Type: no/type", Body: spaces, Want: "413 payload_too_large"},
			{Send: "\nContent-Type: no/type", Body: "{"},
		} {
			if c.Want == "" {
				c.Want, c.Header = "415 unsupported_media_type", cmp.Or(c.Header, accepted)
			}
			c.Send = send + c.Send
			s.Try(t, c)
		}
		if !object.Type.Is("object") {
			continue
		}
		for _, body := range []string{
			"{", "[]", whole + "{}", "\ufeff" + whole,
			BodyOf(object, `"x":1`, `"x":1`), BodyOf(object, "\"x\":\"\xff\""), BodyOf(object, `"x":"\ud800"`),
			BodyOf(object, `"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)),
		} {
			refuse(isJSON, body, "")
		}
		for name, p := range object.Properties {
			_, bad := Values(p.Value)
			for _, v := range bad {
				refuse(isJSON, BodyOf(object, Encode(name)+":"+v), name)
			}
			if slices.Contains(object.Required, name) { // names match exactly
				refuse(isJSON, strings.Replace(whole, Encode(name), Encode(strings.ToUpper(name)), 1), name)
			}
		}
	}
}

package contract

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
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

// request returns a request with these texts for the named parameter, if any, and examples of what is required.
func request(r *routers.Route, name string, texts ...string) (send string) {
	target, query, header := r.Path, url.Values{}, ""
	for _, p := range parameters(r) {
		values := []string{exampleText(p)}
		if p.Name == name {
			values = texts
		} else if !p.Required {
			continue
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
	return r.Method + " " + target + header
}

// exampleText returns the example of a parameter, or "1" if it has none, which coverage reports.
func exampleText(p *openapi3.Parameter) string {
	return fmt.Sprint(cmp.Or(p.Example, exampleOf(p.Schema.Value), any("1")))
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

// parameters tests that operations refuse invalid texts, and that reads accept those of an enum and at a limit.
func (s *Suite) parameters(t *testing.T) {
	for _, r := range s.operations {
		for _, p := range parameters(r) {
			inPath, schema := p.In == openapi3.ParameterInPath, p.Schema.Value
			if !inPath && p.In != openapi3.ParameterInQuery || schema.Type.Is("object") {
				continue
			}
			refuse := func(says string, texts ...string) {
				s.Try(t, Case{Send: request(r, p.Name, texts...), Want: "400 invalid_parameter", Says: says})
			}
			l, _ := listOf(r)
			accept := func(texts ...string) {
				if r.Method == http.MethodGet && !inPath && p.Name != l.cursor { // which may be opaque
					got := s.Try(t, Case{Send: request(r, p.Name, texts...)})
					ok := got.StatusCode < 400 || got.StatusCode == http.StatusNotFound
					got.Assert(t, ok, "got %.200s, want no such status", got.Body)
				}
			}
			if most := schema.MaxItems; schema.Type.Is("array") {
				schema = schema.Items.Value
				if most != nil {
					many := slices.Repeat([]string{fmt.Sprint(exampleOf(schema))}, int(*most)+1)
					refuse(p.Name, many...)
					accept(many[1:]...)
				}
			} else if !inPath {
				refuse(p.Name+" once", exampleText(p), exampleText(p))
			}
			last, _ := limits(schema)
			for _, v := range schema.Enum {
				last = append(last, Encode(v))
			}
			for _, v := range last {
				accept(textOf(v))
			}
			_, bad := valuesOf(schema)
			for _, v := range bad {
				text := textOf(v)
				byGateway := inPath && (text == "" || strings.Contains(text, "\x00")) // which refuses it
				if !byGateway && (!schema.Type.Is("string") || !isValid(schema, Encode(text))) {
					refuse(p.Name, text)
				}
			}
		}
	}
}

// textOf returns the text of a parameter that has a JSON value.
func textOf(value string) string {
	if text, isText := Decode(value).(string); isText {
		return text
	}
	return value
}

// BodyOf returns a JSON body with properties such as `"title":"Emma"`, and examples of others that are required.
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

// bodies tests of every operation which bodies it refuses, and that it accepts most valid values of properties. A
// change has the limits of the create.
func (s *Suite) bodies(t *testing.T) {
	for _, r := range s.operations {
		content, send := requestContent(r), request(r, "")
		if content == nil {
			continue
		}
		isJSON, schema := jsonBody(content)
		_, target, _ := Case{Send: send}.target()
		whole, sent, accepted := BodyOf(schema), 0, 0 // valid values
		refuse := func(media, body, says string) {
			s.Try(t, Case{Send: send + "\nContent-Type: " + media, Body: body, Want: "400 invalid_body", Says: says})
		}
		unsupported := func(lines, body, header string) {
			s.Try(t, Case{Send: send + lines, Body: body, Want: "415 unsupported_media_type", Header: header})
		}
		for media := range content {
			if r.Operation.RequestBody.Value.Required {
				refuse(strings.Replace(media, "*", "x", 1), "", "")
			}
		}
		accept := "Accept: " + regexp.QuoteMeta(strings.Join(slices.Sorted(maps.Keys(content)), ", "))
		long, spaces := strings.Repeat("x", 300), strings.Repeat(" ", s.MaxBody+1)
		for _, media := range []string{
			"", "text/\tplain" + long, "application/json;;", "application/a+json", "application/json\nContent-Type: text/plain",
		} {
			unsupported("\nContent-Type: "+media, whole, accept)
		}
		unsupported("\nContent-Encoding: identity\nContent-Encoding: gzip"+long, whole, "Accept-Encoding: identity")
		// The checks come in this order, after those of the key.
		noType := "\nContent-Type: no/type"
		malformed := strings.Replace(send+noType, "\n", "?%zz\n", 1)
		s.Try(t, Case{Send: malformed, Body: spaces, Want: "400 invalid_parameter"})
		s.Try(t, Case{Send: send + noType, Body: spaces, Want: "413 payload_too_large"})
		unsupported(noType, "{", accept)
		created := &openapi3.Schema{} // by which a change has limits
		if creates, _ := s.route(Case{Send: "POST " + path.Dir(target)}); creates != nil {
			_, created = jsonBody(requestContent(creates))
		}
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
				if p := created.Properties[name]; p != nil {
					_, next := limits(p.Value)
					bad = append(bad, next...)
				}
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

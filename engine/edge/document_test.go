package edge

import (
	"strings"
	"testing"
)

func TestNewRejects(t *testing.T) {
	for name, test := range map[string]struct{ old, by, want string }{
		"an invalid document":        {"type: boolean", "type: bool", "bool"},
		"an address that is none":    {"http://127.0.0.1", "http://[::1", "the first of servers"},
		"no servers":                 {"servers:", "x-servers:", "needs servers"},
		"servers of a path":          {"/version:", "/version:\n    servers: [{url: /}]", "/version: servers must be"},
		"servers of an operation":    {"operationId: getVersion", "operationId: getVersion\n      servers: [{url: /}]", "/version: servers must be"},
		"no operationId":             {"operationId: getBook", "summary: x", "operationId is missing"},
		"a HEAD operation":           {"/version:\n    get:", "/version:\n    head:", "HEAD /version: remove the operation"},
		"a verb after a parameter":   {"/books/{id}:", "'/books/{id}:lend':", "only / may follow a parameter"},
		"a key that is optional":     {"security: [{bearer: []}]", "security: [{bearer: []}, {}]", "security must be one bearer scheme"},
		"security by nothing":        {"security: [{bearer: []}]", "security: [{}]", "security must be one bearer scheme"},
		"basic authentication":       {"scheme: bearer", "scheme: basic", "the security scheme bearer must be a bearer token"},
		"another style":              {"id, in: path", "id, in: path, style: label", "the parameter id must be a string,"},
		"a cookie":                   {"X-Note, in: header", "X-Note, in: cookie", "the parameter X-Note must be a string,"},
		"an array in a path":         {"required: true, schema: {type: integer,", "required: true, schema: {type: array, items: {type: integer},", "the parameter id must be a string,"},
		"an object as a parameter":   {"sold, in: query, schema: {type: boolean}", "sold, in: query, schema: {type: object}", "the parameter sold must be a string,"},
		"a parameter without a type": {"items: {type: integer}", "items: {allOf: [{type: integer}]}", "the parameter level must be a string,"},
		"content as a parameter":     {"sold, in: query, schema: {type: boolean}", "sold, in: query, content: {text/plain: {}}", "the parameter sold must be a string,"},
		"two other media types":      {"image/*: {", "image/*: {}, text/*: {", "the body has [image/* text/*]"},
		"one that begins another":    {"text/plain: {", "application/json-patch+json: {", "the body has [application/json application/json-patch+json text/*]"},
		"JSON without a schema":      {"application/merge-patch+json: {schema: {$ref: '#/components/schemas/Book'}}", "application/json: {}", "JSON with a schema"},
		"a form":                     {"image/*", "application/x-www-form-urlencoded", "no forms"},
		"a parameter of a type":      {"image/*", "text/plain; charset=utf-8", "without parameters"},
		"an invalid date":            {"'2030-12-05'", "'soon'", "needs x-sunset, a date"},
		"an unknown operationId":     {"operationId: getBook", "operationId: getTome", "[GET /v1/books/:id] has no middleware"},
		"another path":               {"/books/{id}:", "/tomes/{id}:", "only the document has [GET /v1/tomes/:id], and only the generated code has [GET /v1/books/:id]"},
	} {
		err := new(server).open(strings.Replace(books, test.old, test.by, 1), Options{})
		assert(t, err != nil && strings.Contains(err.Error(), test.want),
			"%s: got error %v, want one with %q", name, err, test.want)
	}
}

// TestServers checks that nothing but the servers of a document is replaced, and that one of them may be /.
func TestServers(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nservers: # x\n# x\n\n- url: /\n  x: |\n    # y\n\n# b\nb: [1]\n": "a: 1\nservers:\n  - url: /v1\n\n# b\nb: [1]\n",
		"servers: [\n  {url: /}\n] # x\nb: 1\n":                                 "servers:\n  - url: /v1\nb: 1\n",
		`{"a": {"servers": []}, "servers": [{"url": "/]"}], "servers2": []}`:    `{"a": {"servers": []}, "servers": [{"url": "/v1"}], "servers2": []}`,
	} {
		got, err := withServer(text, "/v1")
		assert(t, got == want && err == nil, "%q: got %q, %v, want %q", text, got, err, want)
	}

	s := newServer(t, Options{})
	err := s.open(strings.Replace(books, "http://127.0.0.1:8080/v1/", "/", 1), Options{})
	status, served := s.send("GET /books", "").Code, s.send("GET /openapi.yaml", "").Body.String()
	assert(t, status == 200 && strings.Contains(served, "- url: /\n") && err == nil, "with the server /: got %d, %v, %s", status, err, served)
}

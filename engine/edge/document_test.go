package edge

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/petstore/engine/fault"
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
		assert.ErrorContains(t, err, test.want, name)
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
		assert.True(t, got == want && err == nil, "%q: got %q, %v, want %q", text, got, err, want)
	}

	s := newServer(t, Options{})
	require.NoError(t, s.open(strings.Replace(books, "http://127.0.0.1:8080/v1/", "/", 1), Options{}))
	assert.Equal(t, 200, s.send("GET /books", "").Code, "with the server /")
	assert.Contains(t, s.send("GET /openapi.yaml", "").Body.String(), "- url: /\n")
}

// TestRequests checks queries, bodies that are optional or text, and names in paths with %2F.
func TestRequests(t *testing.T) {
	const valid = "limit=100&year=-5&price=1e1&level=1&level=2&page=1,2&owner=a@b.example&from=2024-02-29&at=2026-02-28T10:30:00.5%2B01:00" +
		"&sold=true&tag=a&tag=b&unknown=1&unknown=2"
	s := newServer(t, Options{})
	for _, test := range []struct {
		send, body string
		status     int
		want       string
	}{
		{"PUT /v1/covers?", "", 400, `"side is required"`},
		{"GET /v1/books?year=2147483648", "", 400, `"year must be a 32-bit integer without fraction or exponent"`},
		{"GET /v1/books?price=0x1p3", "", 400, "price must be a 32-bit number"},
		{"GET /v1/books?price=-1e39", "", 400, "price must be a 32-bit number"},
		{"GET /v1/books?price=11", "", 400, "price must be at most 10.5"},
		{"GET /v1/books?sold=T", "", 400, "sold must be of type boolean"},
		{"GET /v1/books?tag=abcd", "", 400, "tag[0] is invalid: maximum string length is 3"},
		{"GET /v1/books?page=1,x", "", 400, "page must be a 64-bit integer without fraction or exponent"},
		{"GET /v1/books?page=1,2,3", "", 400, "page is invalid: maximum number of items is 2"},
		{"GET /v1/books?page=1&page=2", "", 400, "page must be given only once"},
		{"GET /v1/books?owner=Anna%20%3Ca@b.example%3E", "", 400, "owner must be a valid email"},
		{"GET /v1/books?at=2026-02-28T10:30:00.5+01:00", "", 400, `at must be a valid date-time"`},
		{"GET /v1/books?kind=%FF", "", 400, "kind must be in UTF-8"},
		{"GET /v1/books?" + strings.Repeat("&", 10_000), "", 400, "too many parameters"},
		{"GET /v1/books?" + valid, "", 200, strings.ReplaceAll(valid, "&", `\u0026`)},
		{"GET /v1/books", "", 200, `""`}, // no default is set
		{"PUT /v1/notes/a%2fb/text", "", 200, `"a/b"`},
		{"PUT /v1/notes/%2F%2537/text", "", 200, `"/%37"`},
		{"PUT /v1/notes/a%2Fbcd/text", "", 400, "length is 4"},
		{"PUT /v1/notes/a/text", `{"title":"b","note":null,"pages":-9223372036854775808}`, 200, `"ab"`},
		{"PUT /v1/covers?side=front\nContent-Type: image/png", "\x89PNG", 400, "not valid JSON"}, // says the handler: pictures are not validated
		{"POST /v1/reviews\nContent-Type: text/plain; charset=utf-8", "abc", 400, "the body is invalid: maximum string length is 2"},
		{"POST /v1/reviews\nContent-Type: text/plain", "\xff", 400, "the body must be in UTF-8"},
		{"POST /v1/reviews\nContent-Type: text/csv", "a", 400, "not valid JSON"}, // says the handler: text/* has no schema
		{"DELETE /v1/notes/abcdef/text", "", 200, `"abcdef"`},
	} {
		w := s.send(test.send, test.body)
		assert.Equal(t, test.status, w.Code, "%.99s %s", test.send, test.body)
		assert.Contains(t, w.Body.String(), test.want, "%.99s %s", test.send, test.body)
	}
}

const isLong = "must be shorter than this sentence, of which only three fit into the message of an error, because it is so long that it fills more than a quarter of it"

var bodyMessages = map[string]string{
	`null`:                               "the body must not be null",
	`{"title":"a","pages":"1"}`:          "pages must be a 64-bit integer without fraction or exponent, not a string",
	`{"title":"a","pages":7.5}`:          "pages must be a 64-bit integer without fraction or exponent", // once
	`{"title":"a","kind":null}`:          "kind must not be null; it may be left out",
	`{"title":null}`:                     "title must not be null",
	`{"title":"a!"}`:                     "title must not contain an exclamation mark",
	`{"title":"a","edition":2147483648}`: "edition must be a 32-bit integer without fraction or exponent",
	`{"title":"a","chapters":[{"title":"b","pages":[1,2.0]}]}`:             "chapters[0].pages[1] must be a 64-bit integer without fraction or exponent",
	`{"title":"a","author":{"1 ":1,"1 ":2}}`:                               "author.1  is given twice",
	`{"title":"a","x":1e999`:                                               "the JSON of the body is incomplete",
	`{"title":"a","shelf":7.0}`:                                            "shelf must be a 64-bit integer without fraction or exponent",
	`{"title":"a","copies":2e9}`:                                           "copies must be at most 1000000000",
	`{"title":"a","weight":-1e39}`:                                         "weight must be a 32-bit number",
	`{"title":"a","note":"c"}`:                                             "note must be one of a, null",
	`{"title":"a","worth":1e9}`:                                            "worth must be less than 1000000000",
	`{"title":"a","worth":-1}`:                                             "worth must be more than 0; worth must be between 0 and 1000000000",
	`{"title":"a","worth":1e-7}`:                                           "worth must be a multiple of 0.000001",
	`{"title":"a","isbn":"urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6"}`: "isbn must be a valid uuid",
	`{"title":"a","owner":"anna@"}`:                                        "owner must be a valid email",
	`{"title":"a","stamp":"YQ"}`:                                           "stamp must be in base64, with padding",
	`{"title":"a","printed":"2016-12-31T23:59:60Z"}`:                       "printed must be a valid date-time",
	`{"title":"a","cover":{}}`:                                             "cover.type is required",
	`{"title":"a","cover":{"type":"wood"}}`:                                "cover.type must be one of cloth, paper",
	`{"title":"a","cover":{"type":"cloth"}}`:                               "cover.color is required",
	`{"title":"a","size":{"width":1,"height":1,"type":"a","color":"b"}}`:   "size must have one of the forms in the document",
	`{"title":"a","size":{"width":"x","height":1}}`:                        "size.width must be a 32-bit number, not a string",
	strings.Repeat(`{"x":`, 101):                                           "the body must be nested at most 100 levels deep",
	strings.Repeat(`{"property":`, 20) + `{"1":1,"1":2`:                    "a property is given twice",
	`{"":1,"":2}`: "a property without a name is given twice",
	`{'a':100}`:   "the body is not valid JSON in UTF-8: byte 2 is unexpected",

	// Several faults: those of the present properties by name, then the missing ones; five at most.
	`{"pages":7.0,"kind":"tale","author":{"name":5}}`: "pages must be a 64-bit integer without fraction or exponent; " +
		"author.name must be of type string; kind must be one of novel, poem; title is required",
	`{"tags":[4,"B",4,4,4,4]}`: `tags[0] must be of type string; tags[1] is invalid: string doesn't match the regular expression "^[a-z]+$"; ` +
		"tags[2] must be of type string; tags[3] must be of type string; tags[4] must be of type string",
	`{"tags":[0` + strings.Repeat(",0", 1001) + "]}":                            "tags[0] must be of type string",
	`{"names":[` + strings.Repeat(`"`+strings.Repeat("k", 65)+`",`, 5) + `""]}`: "names[0] " + isLong + "; names[1] " + isLong + "; names[2] " + isLong,
}

// TestBodyMessages also checks the Content-Length, without which net/http reads the body before it responds.
func TestBodyMessages(t *testing.T) {
	s := newServer(t, Options{})
	for body, message := range bodyMessages {
		w := s.send("POST /v1/books", body)
		want, _ := json.Marshal(s.ErrorBody(fault.InvalidBody, message))
		assert.Equal(t, 400, w.Code, "%.99s", body)
		assert.Equal(t, string(want)+"\n", w.Body.String(), "%.99s", body)
		assert.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"), "%.99s", body)
	}
}

// FuzzBody checks that the decoder never panics, and writes its errors for clients.
func FuzzBody(f *testing.F) {
	for body := range bodyMessages {
		f.Add([]byte(body))
	}
	schema := newServer(f, Options{}).document.operations["addBook"].RequestBody.Value.Content["application/merge-patch+json"].Schema.Value
	f.Fuzz(func(t *testing.T, body []byte) {
		err := decodeBody(schema, body, new(book))
		assert.NotRegexp(t, "Go |^$", fmt.Sprint(err), "%q: an error, want a sentence for a client", body)
	})
}

// Package contract tests the pet store, or a server at another address, against openapi.yaml and what the
// README says of it, with the suite of engine/contract. Its own cases stand here.
package contract

import (
	"fmt"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/engine/contract"
	"example.com/petstore/gen"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/service"
)

// run makes keys and names differ from those of other runs.
var run = fmt.Sprint(time.Now().UnixNano())

// cases tests single requests, and then sequences of them. address is what the served document says of the service.
func cases(t *testing.T, s *contract.Suite, address string) {
	body := example.Body()
	servers, want := regexp.MustCompile(`(?m)^servers:.*(\n+[ -].*)*`), "servers:\n  - url: "+address
	yaml := servers.ReplaceAllString(string(gen.Document), want)
	asJSON := regexp.MustCompile(`(?s)"servers": \[.*?\n  \]`).ReplaceAllString(string(gen.DocumentJSON), `"servers": [{"url": "`+address+`"}]`)
	padded := body + strings.Repeat(" ", service.MaxBody-len(body))
	for _, c := range []contract.Case{
		// Lists.
		{Send: "GET /v1/pets?after=9223372036854775807", Want: "200", Says: "[]", Header: "Link:"},
		{Send: "GET /v1/pets?l%69mit=0", Want: "400 invalid_parameter", Says: "limit"},
		{Send: "GET /v%31/pets?limit=0", Want: "400 invalid_parameter", Says: "limit"},
		{Send: "GET /v1/pets?%zz", Want: "400 invalid_parameter", Says: "query"},
		{Send: "GET /v1/pets?limit=5;x=1", Want: "400 invalid_parameter", Says: "query"},

		// What clients accept is not looked at.
		{Send: "GET /v1/pets?limit=1\nAccept: text/html", Want: "200"},
		{Send: "GET /v1/pets?limit=1\nAccept: nonsense", Want: "200"},

		// Creates. The body is 64 KiB at most, and nested 100 levels deep. Unknown properties are ignored.
		{Send: "POST /v1/pets\nContent-Type: Application/JSON; charset=utf-8", Body: example.Body(), Want: "201", Header: "Location: .*/v1/pets/" + example.ID},
		{Send: "POST /v1/pets\nContent-Encoding: identity", Body: example.Body(), Want: "201"},
		{Send: "POST /v1/pets", Body: padded, Want: "201"},
		{Send: "POST /v1/pets", Body: example.BodyNamed(contract.Long), Want: "201"},
		{Send: "POST /v1/pets", Body: example.Body(`"x":` + strings.Repeat("[", 99) + strings.Repeat("]", 99)), Want: "201"},
		{Send: "POST /v1/pets", Body: example.Body(`"x":1e400`), Want: "201"},
		{Send: "POST /v1/pets", Body: example.Body(`"id":-5`, `"STATUS":{}`), Want: "201"},

		// Without a key.
		{Send: "GET /v1/pets", NoKey: true, Want: "401 unauthorized", Says: "API key"},

		// Beside the operations. The document is the exact file, but for its servers.
		{Send: "GET /livez", NoKey: true, Want: "200"},
		{Send: "GET /readyz", NoKey: true, Want: "200"},
		{Send: "GET /openapi.yaml", NoKey: true, Want: "200", Header: fmt.Sprintf("Content-Type: application/(openapi\\+)?yaml.*\nContent-Length: %d", len(yaml)), Same: yaml},
		{Send: "GET /openapi.yaml\nRange: bytes=0-1", NoKey: true, Want: "200", Same: yaml, Header: "Cache-Control: no-cache\nReferrer-Policy: no-referrer\nAccept-Ranges: none"},
		{Send: "GET /openapi.yaml\nRange: bytes=9-2", NoKey: true, Want: "200", Same: yaml, Header: `ETag: "[0-9a-f]+"`},
		{Send: "GET /openapi.yaml\nIf-Match: \"another\"", NoKey: true, Want: "200", Same: yaml},
		{Send: "GET /openapi.json", NoKey: true, Want: "200", Header: "Content-Type: application/(openapi\\+)?json.*", Same: asJSON},
		{Send: "GET /\nAccept: application/json;q=0", NoKey: true, Want: "404 not_found", Says: "/v1"},
	} {
		s.Try(t, c)
	}
	for _, id := range example.NoID {
		s.Try(t, contract.Case{Send: "GET /v1/pets/" + id, Want: "404 not_found", Says: strings.Replace(id, "%2D", "-", 1)})
	}
	for _, query := range []string{ // unknown parameters are ignored
		"limit=2&other=1", "other=1&other=2", "limit=2&=x", "LIMIT=", "limit[]=0", "limit%20=0", "%00=%ff", "&", "l%69mit=2",
		strings.Repeat("x&", 3000) + "limit=2",
	} {
		s.Try(t, contract.Case{Send: "GET /v1/pets?" + query, Want: "200"})
	}
	for _, key := range []string{ // headers are checked before the body, which is too long
		"", "k1\nIdempotency-Key: k1", "k1, k2", `"k1", "k2"`, `"k1";a=b`, `"a\b"`, "a\tb", "é", `"k1`, strings.Repeat("k", 256),
	} {
		s.Try(t, contract.Case{Send: "POST /v1/pets\nIdempotency-Key: " + key, Body: padded + " ", Want: "400 invalid_request", Says: "Idempotency-Key"})
	}
	for _, path := range []string{
		"/v1", "/v1/", "/v1x/pets", "/V1/pets", "/pets", "/v1/petsx", "/v1/PETS", "/store/orders", "/v1/store/orders",
		"/v1/pets/", "/v1/pets/1/", "/v1/pets/1/2", "/v1//pets", "/%2Fv1/pets", "/v1/pets%2F1", "/v1/pets%2f1", "/v1/pets%00", "/v1/pets;x", "/v1/*", "/*",
		"/livezx", "/readyz/1", "/openapi.yml", "/metrics", "/debug/pprof/", "/favicon.ico", "/" + strings.Repeat("x", 8000),
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			c := contract.Case{Send: method + " " + path, Want: "404 not_found", Gateway: strings.Contains(path, "%00")}
			s.Try(t, c)
			c.NoKey = true
			s.Try(t, c)
		}
	}
	for id, kept := range map[string]bool{
		"": false, "a b": false, "ä": false, strings.Repeat("x", 65): false, "abc-1.2_X": true, strings.Repeat("x", 64): true,
	} {
		got := s.Try(t, contract.Case{Send: "GET /v1/pets?limit=1\nX-Request-Id: " + id, Want: "200"})
		same := got.Header.Get("X-Request-Id") == id
		got.Assert(t, same == kept, "X-Request-Id: got the one that was sent: %t, want %t", same, kept)
	}
	for _, key := range []string{"a", "a1", "A", " c", `\d`, `\A`, `"A`, strings.Repeat("k", 255-len(run))} {
		c := contract.Case{Send: "POST /v1/pets\nIdempotency-Key: " + strconv.Quote(run+key)} // another one each time
		s.Try(t, contract.Case{Send: c.Send, Body: "{", Want: "400 invalid_body"})            // does not use it up
		s.Try(t, contract.Case{Send: c.Send, Body: example.Body(), Want: "201"})
	}
	t.Run("Create", func(t *testing.T) { create(t, s) })
	t.Run("LongTexts", func(t *testing.T) { longTexts(t, s) })
}

// create tests that the examples have the answers of the document.
func create(t *testing.T, s *contract.Suite) {
	content := s.Document.Paths.Value("/pets").Post.RequestBody.Value.Content["application/json"]
	answers := s.Document.Paths.Value("/pets").Post.Responses.Status(201).Value.Content["application/json"]
	for name, e := range content.Examples { // each has an answer of the same name
		got := s.Try(t, contract.Case{Send: "POST /v1/pets", Body: contract.Encode(e.Value.Value), Want: "201"})
		pet, _ := contract.Decode(got.Body).(map[string]any)
		answer, _ := contract.Decode(contract.Encode(answers.Examples[name].Value.Value)).(map[string]any)
		answer["id"] = pet["id"]
		s.Assert(t, reflect.DeepEqual(pet, answer), "example %s: got %v, want %v", name, pet, answer)
		id := fmt.Sprint(pet["id"])
		encoded := fmt.Sprintf("GET /v1/pets/%%%x%s", id[0], id[1:])
		s.Try(t, contract.Case{Send: encoded, Want: "200", Same: got.Body})
	}
}

// longTexts tests that a page ends with the pet that brings the texts to 32 KiB.
func longTexts(t *testing.T, s *contract.Suite) {
	const most = 32 << 10
	add := func(body string) string {
		got := s.Expect(t, contract.Case{Send: "POST /v1/pets\nAuthorization: Bearer " + s.Key, Body: body, Want: "201"})
		return path.Base(got.Header.Get("Location"))
	}
	next := "/v1/pets?limit=100&after=" + add(example.Body())
	pages := [][]int{{most - 1, 100}, {most - 200, 199, 100}, {most}, {200, most - 200}}
	for _, sizes := range pages {
		for _, size := range sizes {
			add(example.BodyNamed(example.LongText(size)))
		}
	}
	for i, sizes := range pages {
		page, link := s.Page(t, next)
		ok := len(page) == len(sizes) && (link != "") == (i+1 < len(pages))
		s.Assert(t, ok, "page %d: got %d pets and the link %q, want the %d with texts of %d bytes", i, len(page), link, len(sizes), sizes[0])
		next = link
	}
}

package contract

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/petstore/engine/keys"
	"example.com/petstore/gen"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/service"
)

// cases tests single requests.
func (s *suite) cases(t *testing.T) {
	body := example.Body()
	yaml := regexp.MustCompile(`(?m)^servers:.*(\n+[ -].*)*`).ReplaceAllString(string(gen.Document), "servers:\n  - url: "+s.address)
	asJSON := regexp.MustCompile(`(?s)"servers": \[.*?\n  \]`).ReplaceAllString(string(gen.DocumentJSON), `"servers": [{"url": "`+s.address+`"}]`)
	padded := body + strings.Repeat(" ", service.MaxBody-len(body))
	for _, c := range []testCase{
		// Lists.
		{send: "GET /v1/pets?limit=1", want: "200"},
		{send: "GET /v1/pets?limit=100", want: "200"},
		{send: "GET /v1/pets?after=0", want: "200"},
		{send: "GET /v1/pets?after=9223372036854775807", want: "200", says: "[]", header: "Link:"},
		{send: "GET /v1/pets?limit=101", want: "400 invalid_parameter", says: "limit 1 100"},
		{send: "GET /v1/pets?l%69mit=0", want: "400 invalid_parameter", says: "limit"},
		{send: "GET /v%31/pets?limit=0", want: "400 invalid_parameter", says: "limit"},
		{send: "GET /v1/pets?%zz", want: "400 invalid_parameter", says: "query"},
		{send: "GET /v1/pets?limit=%zz", want: "400 invalid_parameter", says: "query"},
		{send: "GET /v1/pets?%", want: "400 invalid_parameter", says: "query"},
		{send: "GET /v1/pets?limit=5;x=1", want: "400 invalid_parameter", says: "query"},

		// What clients accept is not looked at.
		{send: "GET /v1/pets?limit=1\nAccept: text/html", want: "200"},
		{send: "GET /v1/pets?limit=1\nAccept: application/json;q=0", want: "200"},
		{send: "GET /v1/pets?limit=1\nAccept: nonsense", want: "200"},

		// Creates. The body is 64 KiB at most, and nested 100 levels deep. Unknown properties are ignored.
		{send: "POST /v1/pets\nContent-Type: Application/JSON; charset=utf-8", body: example.Body(), want: "201", header: "Location: .*/v1/pets/[0-9]+"},
		{send: "POST /v1/pets\nContent-Encoding: identity", body: example.Body(), want: "201"},
		{send: "POST /v1/pets", body: padded, want: "201"},
		{send: "POST /v1/pets", body: example.BodyNamed(long), want: "201"},
		{send: "POST /v1/pets", body: example.Body(`"x":` + strings.Repeat("[", 99) + strings.Repeat("]", 99)), want: "201"},
		{send: "POST /v1/pets", body: example.Body(`"x":1e400`), want: "201"},
		{send: "POST /v1/pets", body: example.Body(`"id":-5`, `"STATUS":{}`), want: "201"},

		// One that is not there.
		{send: "GET /v1/pets/0", want: "404 not_found"},
		{send: "GET /v1/pets/-1", want: "404 not_found"},
		{send: "GET /v1/pets/9223372036854775807", want: "404 not_found", says: "9223372036854775807"},
		{send: "GET /v1/pets/9007199254740992", want: "404 not_found"},
		{send: "GET /v1/pets/%2D1", want: "404 not_found"},

		// Beside the operations. The document is the exact file, but for its servers.
		{send: "GET /livez", noKey: true, want: "200"},
		{send: "GET /readyz", noKey: true, want: "200"},
		{send: "GET /openapi.yaml", noKey: true, want: "200", header: fmt.Sprintf("Content-Type: application/(openapi\\+)?yaml.*\nContent-Length: %d", len(yaml)), same: yaml},
		{send: "GET /openapi.yaml\nRange: bytes=0-1", noKey: true, want: "200", same: yaml, header: "Cache-Control: no-cache\nReferrer-Policy: no-referrer"},
		{send: "GET /openapi.yaml\nRange: bytes=9-2", noKey: true, want: "200", same: yaml, header: `ETag: "[0-9a-f]+"`},
		{send: "GET /openapi.yaml\nIf-Match: \"another\"", noKey: true, want: "200", same: yaml},
		{send: "GET /openapi.json", noKey: true, want: "200", header: "Content-Type: application/(openapi\\+)?json.*", same: asJSON},
		{send: "GET /", noKey: true, want: "404 not_found", says: "/v1"},
		{send: "GET /\nAccept: */*", noKey: true, want: "404 not_found", says: "/v1"},
		{send: "GET /\nAccept: application/json;q=0", noKey: true, want: "404 not_found", says: "/v1"},
	} {
		s.try(t, c)
	}
	for _, query := range []string{ // unknown parameters are ignored
		"limit=2&other=1", "other=1&other=2", "limit=2&=x", "LIMIT=", "limit[]=0", "limit%20=0", "%00=%ff", "&", "l%69mit=2",
		strings.Repeat("x&", 3000) + "limit=2",
	} {
		s.try(t, testCase{send: "GET /v1/pets?" + query, want: "200"})
	}
	for _, key := range []string{ // headers are checked before the body, which is too long
		"", "k1\nIdempotency-Key: k1", "k1, k2", `"k1", "k2"`, `"k1";a=b`, `"a\b"`, "a\tb", "é", `"k1`, strings.Repeat("k", 256),
	} {
		s.try(t, testCase{send: "POST /v1/pets\nIdempotency-Key: " + key, body: padded + " ", want: "400 invalid_request", says: "Idempotency-Key"})
	}
	for _, path := range []string{
		"/v1", "/v1/", "/v1x/pets", "/V1/pets", "/pets", "/v1/petsx", "/v1/PETS", "/store/orders", "/v1/store/orders",
		"/v1/pets/", "/v1/pets/1/", "/v1/pets/1/2", "/v1//pets", "/%2Fv1/pets", "/v1/pets%2F1", "/v1/pets%2f1", "/v1/pets%00", "/v1/pets;x", "/v1/*", "/*",
		"/livezx", "/readyz/1", "/openapi.yml", "/metrics", "/debug/pprof/", "/favicon.ico", "/" + strings.Repeat("x", 8000),
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			c := testCase{send: method + " " + path, want: "404 not_found", gateway: strings.Contains(path, "%00")}
			s.try(t, c)
			c.noKey = true
			s.try(t, c)
		}
	}
	for id, kept := range map[string]bool{
		"": false, "a b": false, "ä": false, strings.Repeat("x", 65): false, "abc-1.2_X": true, strings.Repeat("x", 64): true,
	} {
		got := s.try(t, testCase{send: "GET /v1/pets?limit=1\nX-Request-Id: " + id, want: "200"})
		same := got.Header.Get("X-Request-Id") == id
		got.assert(t, same == kept, "X-Request-Id: got the one that was sent: %t, want %t", same, kept)
	}
}

// challenges of a 401, as regular expressions.
const (
	noCredentials = `WWW-Authenticate: Bearer realm="petstore"`
	invalidToken  = `WWW-Authenticate: Bearer realm="petstore", error="invalid_token"`
	eitherOfBoth  = noCredentials + `(, error="invalid_token")?`
)

// unknownKey has the form of a key.
var _, unknownKey, _ = keys.New(service.KeyPrefix, "unknown", false, time.Now(), 0)

// authentication tests which credentials are accepted. needsKey tests each operation without one.
func (s *suite) authentication(t *testing.T) {
	key, body := bearer(s.key), ""
	for _, c := range []testCase{
		{send: key, want: "200"},
		{send: "authorization: bearer " + s.key, want: "200"},
		{send: "X-Api-Key: " + s.key, header: noCredentials},
		{send: "Authorization: ", header: noCredentials},
		{send: "Authorization: Bearer", header: noCredentials},
		{send: "Authorization: " + s.key, header: noCredentials},
		{send: "Authorization: Bearer  " + s.key, want: "200"},
		{send: bearer("AZaz09-._~+/=="), header: invalidToken},
		{send: bearer("=="), header: noCredentials},
		{send: bearer("a=b"), header: noCredentials},
		{send: bearer("a,b"), header: noCredentials},
		{send: bearer(`"` + s.key + `"`), header: noCredentials},
		{send: "Authorization: Basic " + s.key, header: noCredentials},
		{send: key + "\n" + key, header: eitherOfBoth, gateway: true},
		{send: "Cookie: access_token=" + s.key, header: noCredentials},
		{send: "Proxy-" + key, header: noCredentials},
		{send: bearer(unknownKey), header: invalidToken},
		{send: bearer("another-api-key-for-tests"), header: invalidToken},
		{send: key + "\xff", header: eitherOfBoth},
	} {
		c.send, c.noKey = "GET /v1/pets?limit=1&access_token="+s.key+"&api_key="+s.key+"\n"+c.send, true
		if c.want == "" {
			c.want, c.says = "401 unauthorized", "API key"
		}
		got := s.try(t, c)
		if body == "" && got.StatusCode == http.StatusUnauthorized {
			body = got.body
		}
		got.assert(t, got.StatusCode != http.StatusUnauthorized || got.body == body, "got %s, want the body of all, %s", got.body, body)
	}
	for reason, key := range map[string]string{"expired": s.expiredKey, "revoked": s.revokedKey} {
		if key != "" {
			challenge := invalidToken + `, error_description="[^"]*` + reason + `[^"]*"`
			s.try(t, testCase{send: "GET /v1/pets\n" + bearer(key), noKey: true, want: "401 unauthorized", says: reason, header: challenge})
		}
	}
}

// methods tests the methods that each path supports, and does not.
func (s *suite) methods(t *testing.T) {
	for path, allowed := range map[string]string{
		"/v1/pets":   "GET, HEAD, OPTIONS, POST",
		"/v1/pets/1": "GET, HEAD, OPTIONS",
		"/v1/pets/x": "GET, HEAD, OPTIONS",
		"/livez":     "GET, HEAD, OPTIONS", "/readyz": "GET, HEAD, OPTIONS",
		"/openapi.yaml": "GET, HEAD, OPTIONS", "/openapi.json": "GET, HEAD, OPTIONS",
	} {
		for _, method := range []string{"OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO", "get"} {
			c := testCase{send: method + " " + path, noKey: true, want: "405 method_not_allowed", gateway: method == "get"}
			if method == "OPTIONS" {
				c.want = "204"
			} else if slices.Contains(strings.Split(allowed, ", "), method) {
				continue
			}
			for _, c := range []testCase{c, c.with(bearer(s.key))} {
				got := s.try(t, c)
				allow := strings.Join(slices.Sorted(strings.SplitSeq(got.Header.Get("Allow"), ", ")), ", ")
				got.assert(t, allow == allowed || got.StatusCode == http.StatusBadRequest, "Allow: got %q, want %q", allow, allowed)
			}
		}
	}
}

// object is a JSON object, with numbers as written.
type object = map[string]any

// add creates a pet. The response has what was sent; see checkShown.
func (s *suite) add(t *testing.T, body string, header ...string) object {
	t.Helper()
	send := strings.Join(append([]string{"POST /v1/pets", bearer(s.key)}, header...), "\n")
	got := s.expect(t, testCase{send: send, body: body, want: "201"})
	pet, _ := decode(got.body).(object)
	got.checkHeader(t, fmt.Sprintf("Location: .*/v1/pets/%v", pet["id"]))
	return pet
}

// get reads one pet.
func (s *suite) get(t *testing.T, id string) object {
	t.Helper()
	pet, _ := decode(s.expect(t, testCase{send: "GET /v1/pets/" + id + "\n" + bearer(s.key), want: "200"}).body).(object)
	return pet
}

// create tests that each value that is valid is read as it was sent, by each operation that
// reads, and that a repeated request returns the same pet.
func (s *suite) create(t *testing.T) {
	content := s.document.Paths.Value("/pets").Post.RequestBody.Value.Content["application/json"]
	answers := s.document.Paths.Value("/pets").Post.Responses.Status(201).Value.Content["application/json"]
	for name, e := range content.Examples { // each has an answer of the same name
		pet, answer := s.add(t, encode(e.Value.Value)), decode(encode(answers.Examples[name].Value.Value)).(object)
		for p := range content.Schema.Value.Properties {
			assert(t, reflect.DeepEqual(pet[p], answer[p]), "example %s: %s: got %v, want %v", name, p, pet[p], answer[p])
		}
	}
	created := map[string]object{}
	for name, p := range content.Schema.Value.Properties {
		good, _ := values(p.Value)
		for i, v := range good {
			body, key := example.Body(encode(name)+":"+v), fmt.Sprint("Idempotency-Key: ", s.run, name, i)
			pet := s.add(t, body, key)
			id := fmt.Sprint(pet["id"])
			assert(t, created[id] == nil, "got the id %s twice", id)
			created[id] = pet
			for what, got := range map[string]object{
				"repeated": s.add(t, body, key), "get": s.get(t, id), "get, percent-encoded": s.get(t, "%3"+id),
			} {
				assert(t, reflect.DeepEqual(got, pet), "%s: got %v, want %v", what, got, pet)
			}
		}
	}
	before := ""
	for _, v := range s.walk(t, "/v1/pets?", 100) {
		id := fmt.Sprint(v.(object)["id"])
		assert(t, len(id) > len(before) || len(id) == len(before) && id > before, "list: got %s after %s, want ids that ascend", id, before)
		assert(t, created[id] == nil || reflect.DeepEqual(v, any(created[id])), "list: got %v, want %v", v, created[id])
		delete(created, id)
		before = id
	}
	assert(t, len(created) == 0, "list: got none of %v, want each", created)
}

// retry tests which requests are the same: an Idempotency-Key has two forms, belongs to an
// API key, and is not used up by an invalid request. The values are those after defaults. Package
// pets tests that a request with another value is another.
func (s *suite) retry(t *testing.T) {
	seen := map[any]string{}
	isNew := func(what string, pet object) {
		t.Helper()
		assert(t, seen[pet["id"]] == "", "%s: got the pet of %s, want another", what, seen[pet["id"]])
		seen[pet["id"]] = what
	}
	for _, key := range []string{"a", "a1", "A", " c", `\d`, `\A`, `"A`, strings.Repeat("k", 255-len(s.run))} {
		key = s.run + key
		quoted, body := "Idempotency-Key: "+strconv.Quote(key), example.Body()
		s.try(t, testCase{send: "POST /v1/pets\n" + quoted, body: "{", want: "400 invalid_body"})
		pet := s.add(t, body, quoted)
		isNew(quoted, pet)
		same := func(body, header string) {
			t.Helper()
			again := s.add(t, body, header)
			assert(t, reflect.DeepEqual(again, pet), "%s: got %v, want %v", header, again, pet)
		}
		same(strings.Replace(encode(pet), "{", `{"x":1,`, 1), quoted)
		if !strings.Contains(key, `"`) {
			same(body, "Idempotency-Key: "+key)
		}
		s.try(t, testCase{
			send: "POST /v1/pets\n" + quoted, body: example.Body(),
			want: "422 idempotency_key_reused", says: "Idempotency-Key",
		})
	}
	s.once(t, "POST /v1/pets\nIdempotency-Key: "+s.run+"once", 422, func() string { return example.Body() })
	body := example.Body()
	isNew("without a key", s.add(t, body))
	isNew("without a key again", s.add(t, body))
	if s.otherKey != "" {
		mine := s.key
		s.key = s.otherKey
		isNew("another API key", s.add(t, body, "Idempotency-Key: "+s.run+"a1"))
		s.key = mine
	}
}

// longTexts tests that a page ends with the pet that brings the texts to 32 KiB.
func (s *suite) longTexts(t *testing.T) {
	const most = 32 << 10
	next := fmt.Sprintf("/v1/pets?limit=100&after=%v", s.add(t, example.Body())["id"])
	pages := [][]int{{most - 1, 100}, {most - 200, 199, 100}, {most}, {200, most - 200}}
	for _, sizes := range pages {
		for _, size := range sizes {
			s.add(t, example.BodyNamed(example.LongText(size)))
		}
	}
	for i, sizes := range pages {
		page, link := s.page(t, next)
		assert(t, len(page) == len(sizes) && (link != "") == (i+1 < len(pages)),
			"texts of %v bytes: got a page of %d and the link %q, want all of them", sizes, len(page), link)
		next = link
	}
}

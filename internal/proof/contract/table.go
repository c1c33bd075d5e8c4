package contract

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/property"
)

// maxBody is the size of a body that the document promises.
const maxBody = 64 << 10

// greatest is the greatest int64. No resource has it as its identifier.
const greatest = "9223372036854775807"

// statuses returns the values that a status may have.
func statuses() (all []string) {
	for _, status := range example.Parameter("status").Enum {
		all = append(all, status.(string))
	}
	return all
}

// parameters tests query strings and identifiers. Error messages name the parameter.
func (s *suite) parameters() (rows []row) {
	limit := example.Parameter("limit")
	least, most := int(*limit.Min), int(*limit.Max)
	outside := fmt.Sprintf("^limit must be .*between %d and %d$", least, most)
	for _, c := range [][2]string{
		{"?limit=-1", outside},
		{fmt.Sprint("?limit=", least-1), outside},
		{fmt.Sprint("?limit=", most+1), outside},
		{"?limit=", "^limit must be an integer"},
		{"?limit=ten", "^limit must be an integer"},
		{"?limit=%2B5", "^limit must be an integer"},
		{"?limit=05", "^limit must be an integer"},
		{"?limit=5.0", "^limit must be an integer"},
		{"?limit=1e1", "^limit must be an integer"},
		{"?limit=1&limit=1", "^limit must be given only once"},
		{"?status=", "^status "},
		{"?status=lost", "^status must be one of " + strings.Join(statuses(), ", ") + "$"},
		{"?after=-1", "^after must be"},
		{"?%zz", "query"},
		{"?%", "query"},
		{"?limit=5;x=1", "query|limit"},
		{"/9223372036854775808", "^petId must be an integer"},
		{"/x", "^petId must be an integer"},
		{"/+5", "^petId must be an integer"},
		{"/05", "^petId must be an integer"},
		{"/5.0", "^petId must be an integer"},
		{"/1%2F2", "^petId must be an integer"},
		{"/%EF%BC%95", "^petId must be an integer"}, // a full-width 5
	} {
		rows = append(rows, row{request: s.get("/pets" + c[0]), want: want{status: 400, code: "invalid_parameter", message: c[1]}})
	}
	for path, id := range map[string]string{"/pets/0": "0", "/pets/-1": "-1", "/pets/" + greatest: greatest, "/pets/%30": "0", fmt.Sprintf("/%%%x%s/0", "pets"[:1], "pets"[1:]): "0"} {
		rows = append(rows, row{request: s.get(path), want: want{status: 404, code: "not_found", message: "^there is no pet with id " + id + "$"}})
	}
	first := statuses()[0]
	for _, query := range []string{
		"", "&", fmt.Sprint("limit=", least), fmt.Sprint("limit=", most), "after=0", "after=9007199254740993", fmt.Sprintf("status=%%%x%s", first[0], first[1:]), "limit=5&after=1&status=" + first,
		"limit=2&other=1", "other=1&other=2", "limit=2&=x", "LIMIT=", "limit[]=0", "limit%20=0", "%00=%ff", "Status=lost",
		strings.Repeat("x&", 3000) + "limit=2",
	} {
		rows = append(rows, row{request: s.get("/pets?" + query), want: want{status: 200}})
	}
	return append(rows, row{request: s.get("/pets?after=" + greatest), want: want{status: 200, body: "[]", header: map[string]string{"Link": ""}}})
}

// invalidBody tests that bodies are refused and add nothing.
func (s *suite) invalidBody(t T) {
	before := s.create(t, example.Body())
	for _, c := range []struct{ name, body, message string }{
		{"nothing", "", "body"},
		{"an empty object", "{}", "(name|categoryId) is required"},
		{"an array", "[" + example.Body(`"name":"a"`) + "]", "^the body must be an object, not an array$"},
		{"incomplete", "{", "incomplete"},
		{"a second value", example.Body(`"name":"a"`) + " {}", "JSON"},
		{"no name", example.Body(`"name"`), "^name is required$"},
		{"no categoryId", example.Body(`"name":"a"`, `"categoryId"`), "^categoryId is required$"},
		{"name in another case", example.Body(`"name"`, `"NAME":"a"`), "^name is required$"},
		{"U+0000 in name", example.Body(`"name":"a\u0000b"`), "^name must not contain U.0000"},
		{"categoryId 7.0", example.Body(`"name":"a"`, `"categoryId":7.0`), "^categoryId must be an integer"},
		{"categoryId 1e2", example.Body(`"name":"a"`, `"categoryId":1e2`), "^categoryId must be an integer"},
		{"categoryId 2^63", example.Body(`"name":"a"`, `"categoryId":9223372036854775808`), "^categoryId must be"},
		{"a null status", example.Body(`"name":"a"`, `"status":null`), "^status must not be null; it may be left out$"},
		{"categoryId as a string", example.Body(`"name":"a"`, `"categoryId":"1"`), "^categoryId must be an integer of 64 bits, not a string$"},
		{"an unknown status", example.Body(`"name":"a"`, `"status":"lost"`), "^status must be one of"},
		{"name twice", example.Body(`"name":"a","name":"b"`), `"?name"?.* (twice|once|repeat|dup)`},
		{"invalid UTF-8", example.Body("\"name\":\"\xff\""), "UTF-8"},
		{"a lone surrogate", example.Body(`"name":"\ud800"`), "UTF-8"},
		{"a byte order mark", "\ufeff" + example.Body(`"name":"a"`), "UTF-8"},
		{"UTF-16", "\xff\xfe" + regexp.MustCompile(".").ReplaceAllString(example.Body(`"name":"a"`), "$0\x00"), "UTF-8"},
		{"101 levels, all but one of them objects", strings.Repeat(`{"x":`, 100) + "[]" + strings.Repeat("}", 100), "100 levels"},
	} {
		t.Run(c.name, func(t T) {
			s.expect(t, s.post(c.body), want{status: 400, code: "invalid_body", message: c.message})
		})
	}
	page, _ := s.list(t, fmt.Sprintf("?after=%d", idOf(before)))
	if i := slices.IndexFunc(page, func(p resource) bool { return p["name"] == "a" }); i >= 0 {
		t.Errorf("list: got %v, want no pet of an invalid body", page[i])
	}
}

// headers tests those of createPet that describe its body, and Idempotency-Key.
func (s *suite) headers() (rows []row) {
	created := want{status: 201}
	notJSON := want{status: 415, code: "unsupported_media_type", message: "Content-Type", header: map[string]string{"Accept": "^application/json$"}}
	compressed := want{status: 415, code: "unsupported_media_type", message: "body", header: map[string]string{"Accept-Encoding": "^identity$"}}
	for _, c := range []struct {
		header string
		want   want
	}{
		{"Content-Type: Application/JSON; charset=utf-8", created},
		{jsonType + "\nContent-Encoding: identity", created},
		{"X: no type", notJSON},
		{"Content-Type: application/json;;", notJSON},
		{jsonType + "\n" + jsonType, notJSON},
		{"Content-Type: application/vnd.api+json", notJSON},
		{jsonType + "\nContent-Type: text/plain", notJSON},
		{jsonType + "\nContent-Encoding: gzip", compressed},
	} {
		lines := append(strings.Split(c.header, "\n"), bearer(s.Key))
		rows = append(rows, row{c.header, request{"POST", s.base + "/pets", lines, example.Body()}, c.want})
	}
	for _, key := range []string{"", "k1\nIdempotency-Key: k1", "k1, k2", `"k1", "k2"`, `"k1";a=b`, `"a\b"`, "a\tb", "é", `"k1`, strings.Repeat("k", 256)} {
		lines := strings.Split("Idempotency-Key: "+key, "\n")
		r := s.post(example.Body()+strings.Repeat(" ", maxBody), lines...) // headers are checked before the body
		rows = append(rows, row{fmt.Sprintf("Idempotency-Key: %.20s", key), r, want{status: 400, code: "invalid_request", message: "^Idempotency-Key "}})
	}
	return rows
}

// unknownKey has the form of a key.
var _, unknownKey, _ = keys.New("unknown", time.Now(), 0)

const noCredentials = `^Bearer realm="petstore"$`

// authentication tests which credentials are accepted, and that all others get the same
// body.
func (s *suite) authentication(t T) {
	const none, invalid, either = noCredentials, `^Bearer realm="petstore", error="invalid_token"$`, `^Bearer realm="petstore"(, error="invalid_token")?$`
	key := bearer(s.Key)
	first := ""
	for _, c := range []struct {
		name      string
		header    []string
		query     string
		challenge string // "" if the request is accepted
	}{
		{name: "as documented", header: []string{key}},
		{name: "in lower case", header: []string{"authorization: bearer " + s.Key}},
		{name: "no header", challenge: none},
		{name: "the key alone", header: []string{"Authorization: " + s.Key}, challenge: none},
		{name: "another scheme", header: []string{"Authorization: Basic " + s.Key}, challenge: none},
		{name: "two headers", header: []string{key, key}, challenge: either},
		{name: "a cookie", header: []string{"Cookie: access_token=" + s.Key}, challenge: none},
		{name: "for a proxy", header: []string{"Proxy-" + key}, challenge: none},
		{name: "in the URL", query: "&access_token=" + s.Key + "&api_key=" + s.Key + "&Authorization=Bearer%20" + s.Key, challenge: none},
		{name: "an unknown key", header: []string{bearer(unknownKey)}, challenge: invalid},
		{name: "a wrong checksum", header: []string{bearer(unknownKey[:len(unknownKey)-6] + "AAAAAA")}, challenge: invalid},
		{name: "another form", header: []string{bearer("another-api-key-for-tests")}, challenge: invalid},
		{name: "one character more", header: []string{key + "x"}, challenge: invalid},
		{name: "in upper case", header: []string{bearer(strings.ToUpper(s.Key))}, challenge: invalid},
		{name: "invalid UTF-8", header: []string{key + "\xff"}, challenge: either},
	} {
		t.Run(c.name, func(t T) {
			r := request{method: "GET", target: s.base + "/pets?limit=1" + c.query, header: c.header}
			if c.challenge == "" {
				s.expect(t, r, want{status: 200})
				return
			}
			w := want{status: 401, code: "unauthorized", header: map[string]string{"WWW-Authenticate": c.challenge}, malformed: len(c.header) > 1}
			got := s.expect(t, r, w)
			if first == "" {
				first = string(got.body)
			}
			if got.StatusCode == w.status && string(got.body) != first {
				t.Errorf("body: got %s, want that of the other cases, %s", got.body, first)
			}
		})
	}
	for reason, key := range map[string]string{"": s.ReadOnlyKey, "expired": s.ExpiredKey, "revoked": s.RevokedKey} {
		if key == "" {
			continue
		}
		t.Run("a key that is "+reason, func(t T) {
			w := want{status: 200}
			if reason != "" {
				challenge := `^Bearer realm="petstore", error="invalid_token", error_description="[^"]*` + reason + `[^"]*"$`
				w = want{status: 401, code: "unauthorized", message: reason, header: map[string]string{"WWW-Authenticate": challenge}}
			}
			s.expect(t, request{method: "GET", target: s.base + "/pets", header: []string{bearer(key)}}, w)
		})
	}
}

// besidePaths are the paths that are not operations. They need no key.
var besidePaths = []string{"/livez", "/readyz", "/openapi.yaml", "/openapi.json", "/docs"}

// paths tests what is not an operation, and headers that change nothing.
func (s *suite) paths() (rows []row) {
	for _, path := range []string{
		s.base, s.base + "/", s.base + "x/pets", strings.ToUpper(s.base) + "/pets", "/pets", s.base + "/petsx", s.base + "/Pets",
		"/store/orders", s.base + "/store/orders", s.base + "/pets/", s.base + "/pets/1/", s.base + "/pets/1/2", s.base + "//pets", "/%2F" + s.base[1:] + "/pets",
		s.base + "/pets%2F1", s.base + "/pets%00", s.base + "/pets;x", s.base + "/*", "/*", "/livezx", "/readyz/1", "/openapi.yml",
		"/metrics", "/debug/pprof/", "/favicon.ico", "/" + strings.Repeat("x", 8000),
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			r := request{method: method, target: path}
			w := want{status: 404, code: "not_found", malformed: strings.Contains(path, "%00")}
			rows = append(rows, row{request: r, want: w}, row{request: r.with(bearer(s.Key)), want: w})
		}
	}
	address := strings.NewReplacer(example.Document().Servers[0].URL, s.Address)
	yaml, asJSON := address.Replace(string(gen.Document)), address.Replace(property.Encode(example.Document()))
	for path, w := range map[string]want{
		"/livez":        {},
		"/readyz":       {},
		"/openapi.yaml": {header: map[string]string{"Content-Type": "^application/(openapi\\+)?yaml", "Content-Length": fmt.Sprintf("^%d$", len(yaml))}, body: yaml},
		"/openapi.json": {header: map[string]string{"Content-Type": "^application/(openapi\\+)?json"}, body: asJSON},
		"/docs":         {header: map[string]string{"Content-Type": "^text/html", "Content-Security-Policy": "default-src"}, body: s.document.Info.Title},
	} {
		w.status = 200
		rows = append(rows, row{request: request{method: "GET", target: path}, want: w})
	}
	for accept, browser := range map[string]bool{
		"text/html": true, "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": true,
		"*/*": false, "application/json": false, "image/*": false, "application/json;q=0": false, "nonsense": false, "": false,
	} {
		header := "Accept: " + accept
		w := want{status: 404, code: "not_found", message: s.base + ".*/docs|/docs.*" + s.base}
		if browser {
			w = want{status: 302, header: map[string]string{"Location": "/docs$"}}
		}
		rows = append(rows,
			row{"/ with " + header, request{method: "GET", target: "/", header: []string{header}}, w},
			row{"a list with " + header, s.get("/pets?limit=1", header), want{status: 200}},
			row{"no pet with " + header, s.get("/pets/0", header), want{status: 404, code: "not_found"}})
	}
	for _, id := range []string{"", "a b", "ä", strings.Repeat("x", 65)} { // check knows which may be kept
		rows = append(rows, row{fmt.Sprintf("request id %q", id), s.get("/pets/0", "X-Request-Id: "+id), want{status: 404}})
	}
	for _, id := range []string{"abc-1.2_X", strings.Repeat("x", 64)} {
		rows = append(rows, row{fmt.Sprintf("request id %q", id), s.get("/pets/0", "X-Request-Id: "+id), want{status: 404, header: map[string]string{"X-Request-Id": "^" + id + "$"}}})
	}
	return rows
}

// everyMethod tests the methods that each path supports, and does not.
func (s *suite) everyMethod(t T) {
	paths := map[string][]string{}
	for _, path := range besidePaths {
		paths[path] = []string{"GET"}
	}
	for template, item := range s.document.Paths.Map() {
		paths[s.base+strings.NewReplacer("{", "", "}", "").Replace(template)] = slices.Collect(maps.Keys(item.Operations()))
	}
	for path, allowed := range paths {
		if allowed = append(allowed, "OPTIONS"); slices.Contains(allowed, "GET") {
			allowed = append(allowed, "HEAD")
		}
		slices.Sort(allowed)
		for _, method := range []string{"OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO", "get"} {
			w := want{status: 405, code: "method_not_allowed", malformed: method == "get"}
			if method == "OPTIONS" {
				w = want{status: 204}
			} else if slices.Contains(allowed, method) {
				continue
			}
			t.Run(method+" "+path, func(t T) {
				r := request{method: method, target: path}
				got := s.expect(t, r, w)
				if allow := slices.Sorted(strings.SplitSeq(got.Header.Get("Allow"), ", ")); got.StatusCode == w.status && !slices.Equal(allow, allowed) {
					t.Errorf("Allow: got %q, want %q", allow, allowed)
				}
				s.expect(t, r.with(bearer(s.Key)), w)
			})
		}
	}
}

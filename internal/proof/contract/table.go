package contract

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/gen"
	"example.com/petstore/internal/example"
	"example.com/petstore/internal/keys"
)

// maxBody is the size of a body that the document promises.
const maxBody = 64 << 10

// headers tests those that describe a body, and Idempotency-Key.
func (s *suite) headers(t *testing.T) {
	for _, c := range s.collections {
		if c.create.method == "" || c.parent != nil {
			continue
		}
		r := c.to(c.create, c.path(nil))
		typed := r
		typed.header = []string{"Content-Type: " + strings.Replace(c.create.media, "json", "JSON", 1) + "; charset=utf-8", bearer(s.Key)}
		s.try(t, "a type in upper case", typed, want{status: 201})
		s.try(t, "no coding", r.with("Content-Encoding: identity"), want{status: 201})
		s.try(t, "two types", r.with("Content-Type: text/plain"), want{status: 415})
		if !c.takesKey() {
			continue
		}
		r.body += strings.Repeat(" ", maxBody) // headers are checked before the body
		for _, key := range []string{"", "k1\nIdempotency-Key: k1", "k1, k2", `"k1", "k2"`, `"k1";a=b`, `"a\b"`, "a\tb", "é", `"k1`, strings.Repeat("k", 256)} {
			lines := strings.Split("Idempotency-Key: "+key, "\n")
			s.try(t, fmt.Sprintf("Idempotency-Key: %.20s", key), r.with(lines...), want{status: 400, code: "invalid_request", message: "^Idempotency-Key "})
		}
	}
}

// unknownKey has the form of a key.
var _, unknownKey, _ = keys.New("unknown", time.Now(), 0)

const noCredentials = `^Bearer realm="petstore"$`

// authentication tests which credentials are accepted. All others get the same body, but
// for keys that have expired or were revoked.
func (s *suite) authentication(t *testing.T) {
	const none, invalid, either = noCredentials, `^Bearer realm="petstore", error="invalid_token"$`, `^Bearer realm="petstore"(, error="invalid_token")?$`
	ask := func(name, query, message, challenge string, header ...string) {
		w := want{status: 200}
		if challenge != "" {
			w = want{status: 401, message: message, header: map[string]string{"WWW-Authenticate": challenge}, malformed: len(header) > 1}
		}
		target := s.base + s.collections[0].list.template + "?limit=1" + query
		s.try(t, name, request{method: "GET", target: target, header: header}, w)
	}
	refuse := func(name, challenge string, header ...string) {
		ask(name, "", "^a valid API key is required, sent as Authorization: Bearer API_KEY$", challenge, header...)
	}
	key := bearer(s.Key)
	ask("as documented", "", "", "", key)
	ask("in lower case", "", "", "", "authorization: bearer "+s.Key)
	ask("in the URL", "&access_token="+s.Key+"&api_key="+s.Key+"&Authorization=Bearer%20"+s.Key, "", none)
	refuse("no header", none)
	refuse("an empty header", none, "Authorization: ")
	refuse("the scheme alone", none, "Authorization: Bearer")
	refuse("the key alone", none, "Authorization: "+s.Key)
	refuse("another scheme", none, "Authorization: Basic "+s.Key)
	refuse("two headers", either, key, key)
	refuse("a cookie", none, "Cookie: access_token="+s.Key)
	refuse("for a proxy", none, "Proxy-"+key)
	refuse("an unknown key", invalid, bearer(unknownKey))
	refuse("another form", invalid, bearer("another-api-key-for-tests"))
	refuse("invalid UTF-8", either, key+"\xff")
	if s.ReadOnlyKey != "" {
		ask("a key that may only read", "", "", "", bearer(s.ReadOnlyKey))
	}
	for reason, key := range map[string]string{"expired": s.ExpiredKey, "revoked": s.RevokedKey} {
		if key != "" {
			ask(reason, "", reason, `^Bearer realm="petstore", error="invalid_token", error_description="[^"]*`+reason+`[^"]*"$`, bearer(key))
		}
	}
}

// besidePaths returns the paths that are not operations. They need no key.
func (s *suite) besidePaths() map[string]want {
	address := strings.NewReplacer(example.Document().Servers[0].URL, s.Address)
	yaml, asJSON := address.Replace(string(gen.Document)), address.Replace(string(gen.DocumentJSON))
	paths := map[string]want{
		"/livez":        {},
		"/readyz":       {},
		"/openapi.yaml": {header: map[string]string{"Content-Type": "^application/(openapi\\+)?yaml", "Content-Length": fmt.Sprintf("^%d$", len(yaml))}, body: yaml},
		"/openapi.json": {header: map[string]string{"Content-Type": "^application/(openapi\\+)?json"}, body: asJSON},
	}
	if s.docs {
		paths["/docs"] = want{header: map[string]string{"Content-Type": "^text/html", "Content-Security-Policy": "default-src"}, body: s.document.Info.Title}
	}
	return paths
}

// paths tests what is not an operation, and headers that change nothing.
func (s *suite) paths(t *testing.T) {
	list := s.collections[0].list
	path, get := list.template, func(target string, header ...string) request { return s.to(list, target).with(header...) }
	for _, target := range []string{
		s.base, s.base + "/", s.base + "x" + path, strings.ToUpper(s.base) + path, path, s.base + path + "x", s.base + strings.ToUpper(path),
		"/store/orders", s.base + "/store/orders", s.base + path + "/", s.base + path + "/1/", s.base + path + "/1/2", s.base + "/" + path, "/%2F" + s.base[1:] + path,
		s.base + path + "%2F1", s.base + path + "%00", s.base + path + ";x", s.base + "/*", "/*", "/livezx", "/readyz/1", "/openapi.yml",
		"/metrics", "/debug/pprof/", "/favicon.ico", "/" + strings.Repeat("x", 8000),
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			r := request{method: method, target: target}
			w := want{status: 404, malformed: strings.Contains(target, "%00")}
			s.try(t, "", r, w)
			s.try(t, "", r.with(bearer(s.Key)), w)
		}
	}
	for target, w := range s.besidePaths() {
		w.status = 200
		s.try(t, "", request{method: "GET", target: target}, w)
	}
	for accept, browser := range map[string]bool{
		"text/html": true, "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": true,
		"*/*": false, "application/json;q=0": false, "nonsense": false, "": false,
	} {
		header := "Accept: " + accept
		w := want{status: 404, message: s.base}
		if s.docs {
			w.message = s.base + ".*/docs|/docs.*" + s.base
		}
		if browser && s.docs {
			w = want{status: 302, header: map[string]string{"Location": "/docs$"}}
		}
		s.try(t, "/ with "+header, request{method: "GET", target: "/", header: []string{header}}, w)
		s.try(t, "a list with "+header, get(path+"?limit=1", header), want{status: 200})
	}
	for _, query := range []string{"", "&", "limit=2&other=1", "other=1&other=2", "limit=2&=x", "LIMIT=", "limit[]=0", "limit%20=0", "%00=%ff", "l%69mit=2", strings.Repeat("x&", 3000) + "limit=2"} {
		s.try(t, "", get(path+"?"+query), want{status: 200})
	}
	for _, query := range []string{"%zz", "%", "limit=5;x=1"} {
		s.try(t, "", get(path+"?"+query), want{status: 400, code: "invalid_parameter", message: "query|limit"})
	}
	s.try(t, "", get(fmt.Sprintf("/%%%x%s?limit=0", path[1], path[2:])), want{status: 400})
	for id, kept := range map[string]bool{
		"": false, "a b": false, "ä": false, strings.Repeat("x", 65): false, "abc-1.2_X": true, strings.Repeat("x", 64): true,
	} {
		w := want{status: 200} // check knows which may be kept
		if kept {
			w.header = map[string]string{"X-Request-Id": "^" + id + "$"}
		}
		s.try(t, fmt.Sprintf("request id %q", id), get(path, "X-Request-Id: "+id), w)
	}
}

// methods tests the methods that each path supports, and does not.
func (s *suite) methods(t *testing.T) {
	supported := map[string][]string{}
	for path := range s.besidePaths() {
		supported[path] = []string{"GET"}
	}
	for template, item := range s.document.Paths.Map() {
		supported[s.base+strings.NewReplacer("{", "", "}", "").Replace(template)] = slices.Collect(maps.Keys(item.Operations()))
	}
	for path, allowed := range supported {
		if allowed = append(allowed, "OPTIONS"); slices.Contains(allowed, "GET") {
			allowed = append(allowed, "HEAD")
		}
		slices.Sort(allowed)
		for _, method := range []string{"OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO", "get"} {
			w := want{status: 405, malformed: method == "get"}
			if method == "OPTIONS" {
				w.status = 204
			} else if slices.Contains(allowed, method) {
				continue
			}
			t.Run(method+" "+path, func(t *testing.T) {
				r := request{method: method, target: path}
				s.expect(t, r.with(bearer(s.Key)), w)
				got := s.expect(t, r, w)
				allow := slices.Sorted(strings.SplitSeq(got.Header.Get("Allow"), ", "))
				if got.StatusCode == w.status && !slices.Equal(allow, allowed) {
					got.errorf(t, "Allow: got %q, want %q", allow, allowed)
				}
			})
		}
	}
}

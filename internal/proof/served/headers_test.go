package served_test

import (
	"net/http"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/petstoretest"

	"example.com/petstore/gen"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/proof/contract/contracttest"
)

func TestEveryResponseCarriesTheCommonHeaders(t *testing.T) {
	s := start(t)
	withPets(t, s, 1)
	for name, resp := range map[string]response{
		"200":       s.get(t, petsPath),
		"201":       s.post(t, frank),
		"204":       s.send(t, "OPTIONS", petsPath, ""),
		"304":       s.send(t, "GET", "/openapi.yaml", "", "If-None-Match: *"),
		"400":       s.get(t, petsPath+"?limit=0"),
		"401":       s.send(t, "GET", petsPath, ""),
		"404":       s.get(t, "/nothing"),
		"405":       s.send(t, "DELETE", petsPath, ""),
		"413":       s.post(t, padded(65537)),
		"415":       s.send(t, "POST", petsPath, frank, withKey),
		"a probe":   s.send(t, "GET", "/livez", ""),
		"/v1":       s.send(t, "GET", "/v1", ""),
		"document":  s.send(t, "GET", "/openapi.json", ""),
		"docs":      s.send(t, "GET", "/docs", ""),
		"HEAD, 404": s.send(t, "HEAD", "/v1/nothing", ""),
	} {
		if resp.Header.Get("X-Request-Id") == "" || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: got %v, want X-Request-Id and nosniff", name, resp.Header)
		}
		if below := strings.HasPrefix(resp.Request.URL.Path, "/v1"); below && resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got Cache-Control %q, want no-store", name, resp.Header.Get("Cache-Control"))
		}
		for _, name := range []string{"Server", "X-Powered-By", "Vary", "Set-Cookie"} {
			if got := resp.Header.Get(name); got != "" {
				t.Errorf("%s: got %q, want none", name, got)
			}
		}
	}
}

func TestAClientsRequestIDIsKeptIfItIsOneSaneValue(t *testing.T) {
	s := start(t)
	for id, kept := range map[string]bool{
		"a":                     true,
		"A-Za-z0-9._-":          true,
		strings.Repeat("x", 64): true,
		strings.Repeat("x", 65): false,
		"":                      false,
		"a b":                   false,
		"a/b":                   false,
		"ä":                     false,
		"\xff":                  false,
		`"quoted"`:              false,
		"a,b":                   false,
		"{\"x\":1}":             false,
	} {
		resp := s.get(t, petsPath, "X-Request-Id: "+id)
		if got := resp.Header.Get("X-Request-Id"); (got == id) != kept {
			t.Errorf("X-Request-Id for %q: got %q, want kept %t", id, got, kept)
		}
	}
	two := s.get(t, petsPath, "X-Request-Id: a", "X-Request-Id: b").Header.Values("X-Request-Id")
	if len(two) != 1 || two[0] == "a" || two[0] == "b" {
		t.Errorf("X-Request-Id for two of them: got %q, want a new one", two)
	}
	if one, other := s.get(t, petsPath), s.get(t, petsPath); one.Header.Get("X-Request-Id") == other.Header.Get("X-Request-Id") {
		t.Errorf("two request ids: got %s twice, want two", one.Header.Get("X-Request-Id"))
	}
}

func TestEveryResponseOfADeprecatedOperationSaysSo(t *testing.T) {
	s := start(t)
	withPets(t, s, 1)
	const path = petsPath + "/1"
	for name, resp := range map[string]response{
		"200":  s.get(t, path),
		"HEAD": s.send(t, "HEAD", path, "", withKey),
		"400":  s.get(t, petsPath+"/x"),
		"401":  s.send(t, "GET", path, ""),
		"404":  s.get(t, petsPath+"/99"),
	} {
		if got := resp.Header.Get("Deprecation"); got != "@1795219200" {
			t.Errorf("Deprecation of %s: got %q, want @1795219200", name, got)
		}
		if got := resp.Header.Get("Sunset"); got != "Thu, 05 Dec 2030 00:00:00 GMT" {
			t.Errorf("Sunset of %s: got %q, want Thu, 05 Dec 2030 00:00:00 GMT", name, got)
		}
		if got, want := resp.Header.Get("Link"), `</docs#/pets/getPet>; rel="deprecation"; type="text/html"`; got != want {
			t.Errorf("Link of %s: got %q, want %s", name, got, want)
		}
	}
	for _, resp := range []response{s.get(t, petsPath), s.post(t, frank), s.send(t, "PUT", path, ""), s.send(t, "OPTIONS", path, ""), s.get(t, path+"/2")} {
		if got := resp.Header.Get("Deprecation") + resp.Header.Get("Sunset") + resp.Header.Get("Link"); got != "" {
			t.Errorf("%s %s: got %q, want no announcement", resp.Request.Method, resp.Request.URL, got)
		}
	}
}

func TestAnAcceptThatExcludesJSONIsSentJSON(t *testing.T) {
	s := start(t)
	for _, accept := range []string{"text/html", "application/json;q=0", "image/*", "nonsense", ""} {
		s.get(t, petsPath, "Accept: "+accept).wants(t, 200, "", "")
		s.get(t, petsPath+"/99", "Accept: "+accept, "Accept-Encoding: gzip").wants(t, 404, "not_found", "")
	}
}

func TestTheDocumentIsServedByteForByte(t *testing.T) {
	s := start(t)
	resp := s.send(t, "GET", "/openapi.yaml", "")
	if string(resp.body) != string(gen.Document) {
		t.Errorf("/openapi.yaml: got %d bytes that differ, want the document's %d", len(resp.body), len(gen.Document))
	}
	if got := resp.Header.Get("Content-Type"); got != "application/yaml" {
		t.Errorf("Content-Type: got %q, want application/yaml", got)
	}
	resp = s.send(t, "GET", "/openapi.json", "")
	resp.wants(t, 200, "", "")
	if got := resp.Header.Get("Content-Type"); got != "application/json" || !strings.Contains(string(resp.body), `"x-sunset":"2030-12-05"`) {
		t.Errorf("/openapi.json: got %s %.60s, want the document as JSON", got, resp.body)
	}
}

func TestTheDocumentIsNotSentTwiceToWhoHasIt(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/openapi.yaml", "/openapi.json"} {
		tag := s.send(t, "GET", path, "").Header.Get("ETag")
		if len(tag) < 10 || tag[0] != '"' {
			t.Fatalf("ETag of %s: got %s, want a strong one", path, tag)
		}
		for header, want := range map[string]int{
			"If-None-Match: " + tag:                    304,
			"If-None-Match: W/" + tag:                  304,
			"If-None-Match: *":                         304,
			`If-None-Match: "a", ` + tag + `, "b"`:     304,
			`If-None-Match: "another"`:                 200,
			"If-None-Match:":                           200,
			"If-None-Match: " + strings.Trim(tag, `"`): 200,
			"If-Match: " + tag:                         200,
		} {
			for _, method := range []string{"GET", "HEAD"} {
				resp := s.send(t, method, path, "", header)
				if resp.StatusCode != want || resp.Header.Get("ETag") != tag {
					t.Errorf("%s %s with %s: got %d %s, want %d %s", method, path, header, resp.StatusCode, resp.Header.Get("ETag"), want, tag)
				}
			}
		}
	}
}

func TestLinksAreAbsoluteWhereThereIsAPublicAddress(t *testing.T) {
	store := memory.New()
	s := start(t, func(c *petstoretest.Config) {
		c.PublicURL = "https://pets.example.com/v1"
		c.Methods = web.Methods(store, c.PublicURL)
	})
	if got := s.post(t, frank).Header.Get("Location"); got != "https://pets.example.com/v1/pets/1" {
		t.Errorf("Location: got %s, want an absolute one", got)
	}
	s.post(t, frank)
	if got := s.get(t, petsPath+"?limit=1").Header.Get("Link"); got != `<https://pets.example.com/v1/pets?limit=1&after=1>; rel="next"` {
		t.Errorf("Link: got %s, want an absolute one", got)
	}
	if got := s.get(t, petsPath+"/1").Header.Get("Link"); got != `<https://pets.example.com/docs#/pets/getPet>; rel="deprecation"; type="text/html"` {
		t.Errorf("Link of what is deprecated: got %s, want an absolute one", got)
	}
}

func TestTheHeadersTheEdgeSendsAreTheDocuments(t *testing.T) {
	d := contracttest.NewJudge(t).Document()
	for status, names := range map[string][]string{
		"401": {"WWW-Authenticate"}, "415": {"Accept", "Accept-Encoding"}, "503": {"Retry-After"},
	} {
		for _, item := range d.Paths.Map() {
			for _, o := range item.Operations() {
				r := o.Responses.Value(status)
				if r == nil {
					continue
				}
				for _, name := range names {
					if r.Value.Headers[name] == nil {
						t.Errorf("%s %s: got no header %s, want it documented", o.OperationID, status, name)
					}
				}
			}
		}
	}
	example := d.Components.Responses["Unauthorized"].Value.Headers["WWW-Authenticate"].Value.Example
	s := start(t)
	if got := s.send(t, http.MethodGet, petsPath, "", withKey+"x").Header.Get("WWW-Authenticate"); got != example {
		t.Errorf("WWW-Authenticate: got %s, want the document's example %v", got, example)
	}
}

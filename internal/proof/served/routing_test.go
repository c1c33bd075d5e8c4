package served_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestAnUnknownPathIs404WithOrWithoutAKey(t *testing.T) {
	s := start(t)
	withPets(t, s, 3)
	for _, path := range []string{
		"/", "/v1", "/v1/", "/v2/pets", "/pets", "/v1/pet", "/v1/petsx", "/v1/store/orders", "/V1/pets", "/v1/Pets",
		"/v1/pets/", "/v1/pets//", "/v1/pets/1/", "/v1/pets/1/2", "/v1/pets//1", "/v1//pets", "//v1/pets", "//", "/v1/pets/1//",
		"/v1/./pets", "/v1/x/../pets", "/v1/pets/../pets", "/./v1/pets", "/v1/pets/1/.", "/../v1/pets",
		"/v1%2Fpets", "/v1%2fpets/1", "/%2Fv1/pets", "/v1/pets%2F1", "/v1/pets%2F", "/v1/pets%00", "/v1/pets%20", "/v1/pets%ff",
		"/v1/pets;x", "/v1/pets.json", "/v1/:petId", "/v1/pets/1/:petId", "/v1/*", "/*",
		"/livez/", "/livezx", "/readyz/1", "/openapi.yml", "/openapi.yaml/", "/docs/x", "/docsx", "/docs//", "/docs/page.html", "/docs/package.json", "/docs/docs.js", "/docs/docs-000000000000.js", "/docs/scalar.js.gz", "/docs/../docs", "/metrics", "/debug/pprof/", "/favicon.ico",
		"/v1/pets/" + strings.Repeat("1/", 1000), "/" + strings.Repeat("x", 8000), "/é", "/%E2%82%AC",
	} {
		for _, header := range [][]string{{withKey}, nil} {
			for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS", "FOO"} {
				resp := s.send(t, method, path, "", header...)
				if resp.StatusCode != 404 {
					t.Errorf("%s %.80s: got %d %s, want 404", method, path, resp.StatusCode, resp.body)
				}
			}
		}
	}
}

func TestABrowserAtTheTopIsSentToTheDocumentation(t *testing.T) {
	s := start(t)
	for accept, status := range map[string]int{
		"text/html": 302,
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": 302,
		"application/json, TEXT/HTML;level=1;q=0.1":                                  302,
		"text/html;q=0":    404,
		"*/*":              404,
		"text/*":           404,
		"application/json": 404,
		"text/htmlx":       404,
		"":                 404,
	} {
		for _, method := range []string{"GET", "HEAD"} {
			resp := s.send(t, method, "/", "", "Accept: "+accept)
			if resp.StatusCode != status || resp.Header.Get("Vary") != "Accept" {
				t.Errorf("%s / with Accept %q: got %d %v, want %d", method, accept, resp.StatusCode, resp.Header, status)
			}
			if got := resp.Header.Get("Location"); status == 302 && got != "/docs" {
				t.Errorf("%s / with Accept %q: got Location %q, want /docs", method, accept, got)
			}
		}
		for _, method := range []string{"POST", "OPTIONS", "FOO"} {
			s.send(t, method, "/", "", "Accept: "+accept).wants(t, 404, "not_found", "")
		}
	}
}

func TestAnUnknownPathNearTheOperationsLeadsToThem(t *testing.T) {
	s := start(t)
	for path, message := range map[string]string{
		"/":           "there is nothing at this path; the operations are below /v1, and /docs describes them",
		"/pets":       "there is nothing at this path; the operations are below /v1, so put /v1 before it",
		"/pets/1":     "there is nothing at this path; the operations are below /v1, so put /v1 before it",
		"/%70ets":     "there is nothing at this path; the operations are below /v1, so put /v1 before it",
		"/petsx":      "there is nothing at this path",
		"/v1":         "there is nothing at this path",
		"/v1/pets/1/": "there is nothing at this path",
	} {
		resp := s.get(t, path)
		var e struct{ Message string }
		if err := json.Unmarshal(resp.body, &e); err != nil || resp.StatusCode != 404 || e.Message != message {
			t.Errorf("%s: got %d %s, want 404 %q", path, resp.StatusCode, resp.body, message)
		}
	}
}

func TestEveryBodyEndsWithANewline(t *testing.T) {
	s := start(t)
	withPets(t, s, 100)
	for _, path := range []string{"/v1/pets", "/v1/pets?limit=100", "/v1/pets/1", "/v1/pets?limit=0", "/livez", "/readyz", "/openapi.yaml", "/openapi.json", "/nothing"} {
		if resp := s.get(t, path); !strings.HasSuffix(string(resp.body), "\n") || strings.HasSuffix(string(resp.body), "\n\n") {
			t.Errorf("%s: got a body that ends with %q, want one newline", path, resp.body[max(0, len(resp.body)-5):])
		}
	}
	if resp := s.post(t, frank); !strings.HasSuffix(string(resp.body), "}\n") {
		t.Errorf("createPet: got %q, want it to end with a newline", resp.body)
	}
}

func TestPercentEncodingIsAnotherSpellingOfTheSamePath(t *testing.T) {
	s := start(t)
	withPets(t, s, 12)
	for path, same := range map[string]string{
		"/v1/pets/%31":                      "/v1/pets/1",
		"/v1/pets/%31%32":                   "/v1/pets/12",
		"/v1/pets/1%32":                     "/v1/pets/12",
		"/v1/%70ets":                        "/v1/pets",
		"/%76%31/%70%65%74%73/%31":          "/v1/pets/1",
		"/v1/pets?%6c%69mit=%32":            "/v1/pets?limit=2",
		"/%6civez":                          "/livez",
		"http://other.example/v1/pets":      "/v1/pets",
		"HTTP://other.example:99/v1/pets/1": "/v1/pets/1",
	} {
		got, want := s.get(t, path), s.get(t, same)
		if got.StatusCode != want.StatusCode || string(got.body) != string(want.body) {
			t.Errorf("%s: got %d %s, want %d %s", path, got.StatusCode, got.body, want.StatusCode, want.body)
		}
	}
}

func TestAWrongMethodIs405WithAllow(t *testing.T) {
	s := start(t)
	withPets(t, s, 1)
	for path, allowed := range map[string][]string{
		"/v1/pets":           {"GET", "HEAD", "OPTIONS", "POST"},
		"/v1/pets/1":         {"GET", "HEAD", "OPTIONS"},
		"/v1/pets/x":         {"GET", "HEAD", "OPTIONS"},
		"/v1/pets/%31":       {"GET", "HEAD", "OPTIONS"},
		"/livez":             {"GET", "HEAD", "OPTIONS"},
		"/readyz":            {"GET", "HEAD", "OPTIONS"},
		"/openapi.yaml":      {"GET", "HEAD", "OPTIONS"},
		"/openapi.json":      {"GET", "HEAD", "OPTIONS"},
		"/docs":              {"GET", "HEAD", "OPTIONS"},
		"/docs/":             {"GET", "HEAD", "OPTIONS"},
		"/docs/LICENSES.txt": {"GET", "HEAD", "OPTIONS"},
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "CONNECT", "OPTIONS", "FOO", "get", "PROPFIND", "REPORT", "X-Y", "!#$%&'*+-.^_`|~"} {
			for _, header := range [][]string{{withKey}, nil} {
				resp := s.send(t, method, path, "", header...)
				switch {
				case method == http.MethodOptions:
					resp.wants(t, 204, "", "")
				case slices.Contains(allowed, method):
					if resp.StatusCode == 405 {
						t.Errorf("%s %s: got 405, want it allowed", method, path)
					}
					continue
				default:
					resp.wants(t, 405, "method_not_allowed", "Allow")
				}
				got := strings.Split(resp.Header.Get("Allow"), ", ")
				if slices.Sort(got); !slices.Equal(got, allowed) {
					t.Errorf("Allow of %s %s: got %q, want %q", method, path, got, allowed)
				}
			}
		}
	}
}

func TestCONNECTToAnotherHostIsAnUnknownPath(t *testing.T) {
	s := start(t)
	s.send(t, "CONNECT", "example.com:443", "").wants(t, 404, "not_found", "")
}

func TestHEADIsLikeGETWithoutTheBody(t *testing.T) {
	s := start(t)
	withPets(t, s, 30)
	for _, path := range []string{"/v1/pets", "/v1/pets?limit=1&status=sold", "/v1/pets?limit=0", "/v1/pets/1", "/v1/pets/x", "/v1/pets/99", "/livez", "/readyz", "/openapi.yaml", "/openapi.json", "/docs", "/docs/", "/docs/LICENSES.txt", "/nothing"} {
		get, head := s.get(t, path), s.send(t, "HEAD", path, "", withKey)
		if head.StatusCode != get.StatusCode {
			t.Errorf("HEAD %s: got %d, want %d", path, head.StatusCode, get.StatusCode)
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Link", "ETag", "Deprecation", "Sunset", "Cache-Control", "X-Content-Type-Options"} {
			if got, want := head.Header.Get(name), get.Header.Get(name); got != want {
				t.Errorf("%s of HEAD %s: got %q, want %q", name, path, got, want)
			}
		}
	}
}

func TestOPTIONSOfTheWholeServerNamesEveryMethod(t *testing.T) {
	s := start(t)
	resp := s.send(t, "OPTIONS", "*", "")
	resp.wants(t, 204, "", "")
	got := strings.Split(resp.Header.Get("Allow"), ", ")
	if slices.Sort(got); !slices.Equal(got, []string{"GET", "HEAD", "OPTIONS", "POST"}) {
		t.Errorf("Allow: got %q, want every method of the service", got)
	}
	s.send(t, "GET", "*", "").wants(t, 404, "not_found", "")
}

func TestHTTP10IsSpoken(t *testing.T) {
	s := start(t)
	resp := s.sendRaw(t, "GET /v1/pets HTTP/1.0\r\n"+withKey+"\r\n\r\n")
	resp.wants(t, 200, "", "")
	resp.wantsClosed(t)
	s.sendRaw(t, "POST /v1/pets HTTP/1.0\r\nContent-Length: 1\r\n\r\n{").wants(t, 401, "unauthorized", "")
	s.sendRaw(t, "GET /v1/pets HTTP/1.0\r\nConnection: keep-alive\r\n"+withKey+"\r\n\r\n").wants(t, 200, "", "")
}

func TestWhatIsNotHTTPIsRefusedByGoItself(t *testing.T) {
	s := start(t)
	for request, want := range map[string]int{
		"nonsense\r\n\r\n":                                                                    400,
		"GET /v1/pets HTTP/9.9\r\nHost: x\r\n\r\n":                                            505,
		"GET /v1/pets HTTP/1.1\r\n\r\n":                                                       400, // no Host
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n":                                 400,
		"GET /v1/pets%zz HTTP/1.1\r\nHost: x\r\n\r\n":                                         400,
		"GET /v1/pets HTTP/1.1\r\nHost: x\r\nBad Name: 1\r\n\r\n":                             400,
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n": 400,
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n":                     400,
		"POST /v1/pets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n":                501,
	} {
		resp := s.sendRaw(t, request)
		if resp.StatusCode != want || !resp.Close {
			t.Errorf("%q: got %d, closed %t, want %d and the end of the connection", request, resp.StatusCode, resp.Close, want)
		}
	}
}

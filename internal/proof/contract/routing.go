package contract

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/gen"
)

func (s *suite) unknownPath(t runner) {
	for _, path := range []string{
		s.base, s.base + "/", s.base + "x/pets", strings.ToUpper(s.base) + "/pets", "/pets", s.base + "/petsx", s.base + "/Pets",
		"/store/orders", s.base + "/store/orders", s.base + "/pets/", s.base + "/pets/1/", s.base + "/pets/1/2", s.base + "//pets", "/%2F" + s.base[1:] + "/pets",
		s.base + "/pets%2F1", s.base + "/pets%00", s.base + "/pets;x", s.base + "/*", "/*", "/livezx", "/readyz/1", "/openapi.yml",
		"/metrics", "/debug/pprof/", "/favicon.ico", "/" + strings.Repeat("x", 8000),
	} {
		t.Run(path[:min(len(path), 40)], func(t reporter) {
			for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
				s.expect(t, request{method: method, target: path, header: []string{s.auth()}}, want{status: 404, code: "not_found"})
			}
			s.expect(t, request{method: "GET", target: path}, want{status: 404, code: "not_found"})
		})
	}
}

// method tests the methods of besidePaths.
func (s *suite) method(t runner) {
	for _, path := range besidePaths {
		t.Run(path, func(t reporter) {
			for method, status := range map[string]int{"POST": 405, "DELETE": 405, "FOO": 405, "OPTIONS": 204} {
				w := want{status: status}
				if status == 405 {
					w.code = "method_not_allowed"
				}
				got := strings.Split(s.expect(t, request{method: method, target: path}, w).Header.Get("Allow"), ", ")
				slices.Sort(got)
				if !slices.Equal(got, []string{"GET", "HEAD", "OPTIONS"}) {
					t.Errorf("%s: Allow: got %q, want GET, HEAD, OPTIONS", method, got)
				}
			}
		})
	}
}

// besidePaths are the paths that are not operations. They need no key.
var besidePaths = []string{"/livez", "/readyz", "/openapi.yaml", "/openapi.json", "/docs"}

func (s *suite) beside(t runner) {
	get := func(path string, header ...string) request {
		return request{method: "GET", target: path, header: header}
	}
	for _, path := range besidePaths {
		t.Run(path, func(t reporter) {
			got := s.expect(t, get(path), want{status: 200})
			if tag := got.Header.Get("ETag"); tag != "" {
				s.expect(t, get(path, "If-None-Match: "+tag), want{status: 304})
				s.expect(t, get(path, `If-None-Match: "another"`), want{status: 200})
			}
		})
	}
	t.Run("yaml", func(t reporter) {
		got := s.expect(t, get("/openapi.yaml"), want{status: 200, header: map[string]string{"Content-Type": "^application/(openapi\\+)?yaml"}})
		if !bytes.Equal(got.body, gen.Document) {
			t.Errorf("body: got %d other bytes, want openapi.yaml with %d", len(got.body), len(gen.Document))
		}
	})
	t.Run("json", func(t reporter) {
		got := s.expect(t, get("/openapi.json"), want{status: 200, header: map[string]string{"Content-Type": "^application/(openapi\\+)?json"}})
		document, err := openapi3.NewLoader().LoadFromData(got.body)
		if err != nil {
			t.Errorf("body: got %.100s (%v), want the document", got.body, err)
			return
		}
		a, _ := json.Marshal(document)
		b, _ := json.Marshal(s.judge.document)
		if !bytes.Equal(a, b) {
			t.Errorf("body: got another document, want openapi.yaml")
		}
	})
	t.Run("docs", func(t reporter) {
		got := s.expect(t, get("/docs"), want{status: 200, header: map[string]string{"Content-Type": "^text/html", "Content-Security-Policy": "default-src"}})
		if !bytes.Contains(got.body, []byte(s.judge.document.Info.Title)) {
			t.Errorf("body: got %.100s, want the title of the document in it", got.body)
		}
	})
}

func (s *suite) root(t runner) {
	browser := want{status: 302, header: map[string]string{"Location": "/docs$"}}
	other := want{status: 404, code: "not_found", message: s.base + ".*/docs|/docs.*" + s.base}
	for accept, w := range map[string]want{
		"text/html": browser,
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8": browser,
		"*/*":              other,
		"application/json": other,
		"":                 other,
	} {
		t.Run(accept, func(t reporter) {
			for _, method := range []string{"GET", "HEAD"} {
				s.expect(t, request{method: method, target: "/", header: []string{"Accept: " + accept}}, w)
			}
		})
	}
}

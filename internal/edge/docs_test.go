package edge_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/petstore/internal/edge"
)

// docs are the documentation page and all that it loads, by media type.
var docs = map[string]string{
	"/docs":                                  "text/html; charset=utf-8",
	"/docs/":                                 "text/html; charset=utf-8",
	"/docs/docs.js":                          "text/javascript; charset=utf-8",
	"/docs/docs.css":                         "text/css; charset=utf-8",
	"/docs/icon.svg":                         "image/svg+xml",
	"/docs/swagger-ui-bundle.js":             "text/javascript; charset=utf-8",
	"/docs/swagger-ui.css":                   "text/css; charset=utf-8",
	"/docs/swagger-ui-bundle.js.LICENSE.txt": "text/plain; charset=utf-8",
	"/docs/LICENSE":                          "text/plain; charset=utf-8",
	"/docs/NOTICE":                           "text/plain; charset=utf-8",
}

func TestTheDocsAreServedWithoutAKeyUnderAStrictPolicy(t *testing.T) {
	s := start(t)
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for path, mediaType := range docs {
		for _, method := range []string{"GET", "HEAD"} {
			resp := s.send(t, method, path, "")
			resp.wants(t, 200, "", "")
			for name, want := range map[string]string{
				"Content-Type":            mediaType,
				"Content-Security-Policy": policy,
				"Referrer-Policy":         "no-referrer",
				"Cache-Control":           "no-cache",
				"Content-Encoding":        "",
			} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s of %s %s: got %q, want %q", name, method, path, got, want)
				}
			}
			if again := s.send(t, method, path, "", "If-None-Match: "+resp.Header.Get("ETag")); again.StatusCode != 304 {
				t.Errorf("%s %s again: got %d, want 304", method, path, again.StatusCode)
			}
		}
	}
}

func TestWhatThePageOfTheDocsNamesIsThere(t *testing.T) {
	s := start(t)
	for path, root := range map[string]string{"/docs": "", "/docs/": "../"} {
		page := string(s.send(t, "GET", path, "").body)
		names := regexp.MustCompile(`(?:href|src)="([^"]*)"`).FindAllStringSubmatch(page, -1)
		if len(names) != 6 {
			t.Errorf("names in %s: got %q, want the document, an icon, two stylesheets and two scripts", path, names)
		}
		for _, name := range names {
			rest, found := strings.CutPrefix(name[1], root)
			if !found || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/") {
				t.Errorf("%s: got %s, want it to begin with %q, so that it is right below any prefix", path, name[1], root)
			}
			s.send(t, "GET", "/"+rest, "").wants(t, 200, "", "")
		}
		if strings.Contains(page, "{{") || strings.Contains(page, "<style") || strings.Contains(page, "style=") || regexp.MustCompile(`<script[^>]*>[^<]`).MatchString(page) {
			t.Errorf("%s: got %s, want every place filled and nothing inline", path, page)
		}
	}
}

func TestTheDocsAreSentCompressedToWhoCanReadThat(t *testing.T) {
	s := start(t)
	const path = "/docs/swagger-ui.css"
	plain := s.send(t, "GET", path, "")
	for coding, zipped := range map[string]bool{
		"gzip": true, "GZIP": true, "br, gzip": true, "br,gzip;q=0.1": true, "deflate, gzip; q=1.0": true,
		"": false, "identity": false, "br": false, "gzip;q=0": false, "gzip; q=0.0": false, "xgzip": false,
	} {
		resp := s.send(t, "GET", path, "", "Accept-Encoding: "+coding)
		body := resp.body
		if got := resp.Header.Get("Content-Encoding") == "gzip"; got != zipped {
			t.Errorf("Accept-Encoding %q: got compressed %t, want %t", coding, got, zipped)
		}
		if zipped {
			r, err := gzip.NewReader(bytes.NewReader(resp.body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(body, plain.body) || len(body) < 100_000 {
			t.Errorf("Accept-Encoding %q: got %d bytes, want the same %d", coding, len(body), len(plain.body))
		}
		if same := resp.Header.Get("ETag") == plain.Header.Get("ETag"); same == zipped || resp.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: got ETag %s and Vary %q, want a tag for each coding, and Vary", coding, resp.Header.Get("ETag"), resp.Header.Get("Vary"))
		}
		if again := s.send(t, "GET", path, "", "Accept-Encoding: "+coding, "If-None-Match: "+resp.Header.Get("ETag")); again.StatusCode != 304 {
			t.Errorf("Accept-Encoding %q, again: got %d, want 304", coding, again.StatusCode)
		}
	}
}

func TestTheDocsMaySendRequestsToThePublicAddressAndNoOther(t *testing.T) {
	for base, want := range map[string]struct{ connect, public string }{
		"/v1":                                {"connect-src 'self';", `data-public=""`},
		"https://pets.example.com/v1":        {"connect-src 'self' https://pets.example.com;", `data-public="https://pets.example.com/v1"`},
		"http://127.0.0.1:99/shop/v1":        {"connect-src 'self' http://127.0.0.1:99;", `data-public="http://127.0.0.1:99/shop/v1"`},
		`https://pets.example.com/"&<i>'/v1`: {"connect-src 'self' https://pets.example.com;", `data-public="https://pets.example.com/&#34;&amp;&lt;i&gt;&#39;/v1"`},
	} {
		s := start(t, func(c *edge.Config) { c.Base = base })
		resp := s.send(t, "GET", "/docs", "")
		if got := resp.Header.Get("Content-Security-Policy"); !strings.Contains(got, want.connect) {
			t.Errorf("policy with the base %s: got %s, want %s", base, got, want.connect)
		}
		if !strings.Contains(string(resp.body), want.public) {
			t.Errorf("page with the base %s: got %s, want %s", base, resp.body, want.public)
		}
	}
}

func TestTheInterfaceOfTheDocsIsTheOneThatIsPinned(t *testing.T) {
	data, err := os.ReadFile("docs/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Resolved string }
	}
	if err := json.Unmarshal(data, &lock); err != nil {
		t.Fatal(err)
	}
	pinned := lock.Packages["node_modules/swagger-ui-dist"].Version
	s := start(t)
	bundle := s.send(t, http.MethodGet, "/docs/swagger-ui-bundle.js", "").body
	if pinned == "" || !bytes.Contains(bundle, []byte(`PACKAGE_VERSION:"`+pinned+`"`)) {
		t.Errorf("swagger-ui-bundle.js: got another version than %q of package-lock.json: run make docs-ui", pinned)
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("package-lock.json, %s: got the address %s, want none", name, p.Resolved)
		}
	}
}

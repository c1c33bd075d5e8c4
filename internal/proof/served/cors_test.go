package served_test

import (
	"strings"
	"testing"

	"example.com/petstore/internal/proof/petstoretest"
)

func localOrigins(cfg *petstoretest.Config) {
	cfg.LocalOrigins, cfg.PublicURL = true, "http://petstore/v1"
}

const fromLocalhost = "Origin: http://localhost:5173"

func TestEveryResponseMayBeReadByAScriptAtLocalhost(t *testing.T) {
	s := start(t, localOrigins)
	withPets(t, s, 1)
	for what, resp := range map[string]response{
		"200":            s.get(t, petsPath, fromLocalhost),
		"201":            s.post(t, frank, fromLocalhost),
		"304":            s.send(t, "GET", "/openapi.yaml", "", "If-None-Match: *", fromLocalhost),
		"400":            s.get(t, petsPath+"?limit=0", fromLocalhost),
		"401":            s.send(t, "GET", petsPath, "", fromLocalhost),
		"404":            s.get(t, "/nothing", fromLocalhost),
		"a longer path":  s.get(t, petsPath+"/1/2", fromLocalhost),
		"405":            s.send(t, "DELETE", petsPath, "", fromLocalhost),
		"413":            s.post(t, padded(65537), fromLocalhost),
		"415":            s.send(t, "POST", petsPath, frank, withKey, fromLocalhost),
		"a probe":        s.send(t, "GET", "/livez", "", fromLocalhost),
		"HEAD":           s.send(t, "HEAD", petsPath+"/1", "", withKey, fromLocalhost),
		"OPTIONS":        s.send(t, "OPTIONS", petsPath, "", fromLocalhost),
		"OPTIONS of all": s.send(t, "OPTIONS", "*", "", fromLocalhost),
	} {
		if got := resp.Header.Values("Access-Control-Allow-Origin"); len(got) != 1 || got[0] != "http://localhost:5173" {
			t.Errorf("%s: got Access-Control-Allow-Origin %q, want the origin", what, got)
		}
		if got := resp.Header.Get("Access-Control-Expose-Headers"); got != "Link, Location, Preference-Applied, X-Request-Id, Deprecation, Sunset, Retry-After, WWW-Authenticate" {
			t.Errorf("%s: got Access-Control-Expose-Headers %q, want the headers of the contract", what, got)
		}
		if got := resp.Header.Get("Access-Control-Allow-Credentials"); got != "" {
			t.Errorf("%s: got Access-Control-Allow-Credentials %q, want none: keys are sent by scripts, not by browsers", what, got)
		}
	}
}

func TestAPreflightNeedsNoKeyAtEveryPath(t *testing.T) {
	s := start(t, localOrigins)
	for _, path := range []string{petsPath, petsPath + "/1", petsPath + "/1/2", "/v1/nothing", "/livez", "/"} {
		resp := s.send(t, "OPTIONS", path, "", fromLocalhost, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type,idempotency-key")
		resp.wants(t, 204, "", "")
		for name, want := range map[string]string{
			"Access-Control-Allow-Origin":  "http://localhost:5173",
			"Access-Control-Allow-Methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
			"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Prefer, X-Request-Id",
			"Vary":                         "Origin",
		} {
			if got := resp.Header.Get(name); got != want {
				t.Errorf("%s of %s: got %q, want %q", name, path, got, want)
			}
		}
		if len(resp.body) > 0 {
			t.Errorf("body of %s: got %q, want none", path, resp.body)
		}
	}
}

func TestOnlyOriginsOfThisMachineAreAdmitted(t *testing.T) {
	s := start(t, localOrigins)
	for origin, want := range map[string]bool{
		"http://localhost":               true,
		"https://localhost":              true,
		"http://localhost:3000":          true,
		"http://127.0.0.1:8081":          true,
		"https://[::1]":                  true,
		"http://[::1]:5173":              true,
		"":                               false,
		"null":                           false,
		"*":                              false,
		"localhost":                      false,
		"http://localhost/":              false,
		"http://localhost:3000/a":        false,
		"http://me@localhost":            false,
		"http://localhost.example.com":   false,
		"http://localhost@example.com":   false,
		"http://example.com":             false,
		"http://example.com#localhost":   false,
		"http://127.0.0.1.example.com":   false,
		"http://127.0.0.2":               false,
		"http://app.localhost":           false,
		"file://localhost":               false,
		"chrome-extension://localhost":   false,
		"http://localhost, http://evil":  false,
		"http://localhost:3000\thttp://": false,
	} {
		for _, header := range [][]string{{"Origin: " + origin}, {"Origin: " + origin, "Access-Control-Request-Method: POST"}} {
			method := "GET"
			if len(header) > 1 {
				method = "OPTIONS"
			}
			resp := s.send(t, method, petsPath, "", append(header, withKey)...)
			if got := resp.Header.Get("Access-Control-Allow-Origin"); (got == origin && got != "") != want || !want && got != "" {
				t.Errorf("%s from %q: got Access-Control-Allow-Origin %q, want it admitted: %t", method, origin, got, want)
			}
			if got := resp.Header.Get("Vary"); got != "Origin" {
				t.Errorf("%s from %q: got Vary %q, want Origin", method, origin, got)
			}
		}
	}
	two := s.get(t, petsPath, fromLocalhost, "Origin: http://localhost")
	if got := two.Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("from two origins: got %q, want none admitted", got)
	}
}

func TestWithoutTheSandboxNoOriginIsAdmitted(t *testing.T) {
	s := start(t)
	for what, resp := range map[string]response{
		"a request":   s.get(t, petsPath, fromLocalhost),
		"an error":    s.send(t, "GET", petsPath, "", fromLocalhost),
		"a preflight": s.send(t, "OPTIONS", petsPath, "", fromLocalhost, "Access-Control-Request-Method: POST"),
	} {
		for name := range resp.Header {
			if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
				t.Errorf("%s: got %s, want none", what, name)
			}
		}
	}
}

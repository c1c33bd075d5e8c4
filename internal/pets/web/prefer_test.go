package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/contract/contracttest"
	"example.com/petstore/internal/proof/petstoretest"
)

const preferStrict = "handling=strict"

func TestTyposAreNotSilentForAClientThatAsks(t *testing.T) {
	judge := contracttest.NewJudge(t)
	h, _ := sandbox(t)
	for _, c := range []struct {
		method, target, body string
		status               int // where strict handling is preferred
		want                 string
	}{
		{"GET", "/v1/pets?limit=2&status=sold&after=3", "", 200, ""},
		{"GET", "/v1/pets?lmit=2", "", 400, "lmit is an unknown query parameter; the nearest known is limit"},
		{"GET", "/v1/pets?LIMIT=2", "", 400, "LIMIT is an unknown query parameter; the nearest known is limit"},
		{"GET", "/v1/pets?zz=1&stat=sold", "", 400, "stat is an unknown query parameter; the nearest known is status"},
		{"GET", "/v1/pets?" + strings.Repeat("x", 200), "", 400, "a name of 200 bytes is an unknown query parameter; the nearest known is"},
		{"GET", "/v1/pets/1", "", 200, ""},
		{"GET", "/v1/pets/1?fields=name", "", 400, "fields is an unknown query parameter; none is known here"},
		{"HEAD", "/v1/pets?lmit=2", "", 400, ""},
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":1,"status":"sold"}`, 201, ""},
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":1,"satus":"sold"}`, 400, "satus is an unknown property; the nearest known is status"},
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":1,"NAME":"Max"}`, 400, "NAME is an unknown property; the nearest known is name"},
		{"POST", "/v1/pets", `{"naem":"Rex","categoryId":1}`, 400, "naem is an unknown property; the nearest known is name"},
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":1,"":null}`, 400, "is an unknown property"},
		{"POST", "/v1/pets", `{"name":"Rex","categoryId":1,"id":7}`, 400, "id is an unknown property; the nearest known is"},
		{"POST", "/v1/pets?dry=true", `{"name":"Rex","categoryId":1}`, 400, "dry is an unknown query parameter; none is known here"},
	} {
		for _, strict := range []bool{true, false} {
			r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
			r.Header.Set("Authorization", "Bearer "+fixedKey)
			if c.body == "" {
				r.Body, r.ContentLength = http.NoBody, 0
			} else {
				r.Header.Set("Content-Type", isJSON)
			}
			want, applied := c.status, ""
			if strict {
				r.Header["Prefer"] = []string{"respond-async", preferStrict}
			} else if want == 400 && !strings.Contains(c.body, "naem") {
				want = 200
				if c.method == "POST" {
					want = 201
				}
			}
			if strict && want < 300 {
				applied = preferStrict
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want || w.Header().Get("Preference-Applied") != applied || strict && !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%s %s %s, strict %t: got %d %s with Preference-Applied %q, want %d %s with %q",
					c.method, c.target, c.body, strict, w.Code, w.Body, w.Header().Get("Preference-Applied"), want, c.want, applied)
			}
			if c.method == "HEAD" {
				continue // whose body net/http drops
			}
			if err := judge.Check(r, w.Result(), w.Body.Bytes()); err != nil {
				t.Errorf("%s %s: %v", c.method, c.target, err)
			}
		}
	}
}

func TestOtherPreferencesAreIgnored(t *testing.T) {
	h, _ := sandbox(t)
	for _, lines := range [][]string{{""}, {"handling"}, {"handling=lenient, handling=strict"}, {"=;,\"", "x"}, {"respond-async; wait=10"}} {
		for _, target := range []string{"/v1/pets?lmit=2", "/v1/pets/1?x"} {
			r := httptest.NewRequest("GET", target, nil)
			r.Header.Set("Authorization", "Bearer "+fixedKey)
			r.Header["Prefer"] = lines
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != 200 || w.Header()["Preference-Applied"] != nil {
				t.Errorf("Prefer %q: got %d %s with %q, want 200 without Preference-Applied", lines, w.Code, w.Body, w.Header()["Preference-Applied"])
			}
		}
	}
}

func TestScriptsAtASandboxMaySendPreferAndReadTheAnswer(t *testing.T) {
	h, _ := sandbox(t, func(c *petstoretest.Config) { c.LocalOrigins = true })
	r := httptest.NewRequest("OPTIONS", "/v1/pets", nil)
	r.Host = "localhost"
	r.Header.Set("Origin", "http://localhost:3000")
	r.Header.Set("Access-Control-Request-Method", "POST")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	for field, want := range map[string]string{"Access-Control-Allow-Headers": "Prefer", "Access-Control-Expose-Headers": "Preference-Applied"} {
		if got := w.Header().Get(field); !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %s in it", field, got, want)
		}
	}
}

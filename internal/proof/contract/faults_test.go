package contract

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// collector is a T that records what the cases report.
type collector []string

func (c *collector) Run(_ string, f func(T)) { f(c) }

func (c *collector) Errorf(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

// faults are things that a service does wrong: it replaces text in its responses, or
// changes requests. The group finds it, and what it reports contains finding.
var faults = map[string]struct {
	group, finding string
	old, by        string
	request        func(*http.Request)
}{
	"another success":        {group: "Writes", finding: "status is not supported", old: " 200 OK", by: " 206 Partial Content"},
	"a field renamed":        {group: "Writes", finding: `"categoryId" is missing`, old: `"categoryId"`, by: `"category"`},
	"no default":             {group: "Writes", finding: "status: got <nil>, want available", old: `"status":"available"`, by: `"state":"available"`},
	"no Location":            {group: "Writes", finding: "Location: got", old: "Location:", by: "X:"},
	"a deprecated create":    {group: "Writes", finding: "Deprecation: got", old: "X-Request-Id:", by: "Deprecation: @1795219200\r\nX-Request-Id:"},
	"no request id":          {group: "Paths", finding: "X-Request-Id: got []", old: "X-Request-Id:", by: "X:"},
	"another document":       {group: "Paths", finding: "body: got", old: "openapi: 3", by: "openapi:  3"},
	"a message of a library": {group: "EveryOperation", finding: "nothing internal", old: "must be an integer", by: "strconv.ParseInt: invalid"},
	"another code":           {group: "EveryOperation", finding: "code: got", old: "invalid_parameter", by: "bad_parameter"},
	"no Deprecation":         {group: "EveryOperation", finding: "Deprecation: got", old: "Deprecation:", by: "X:"},
	"a key in a message":     {group: "Authentication", finding: "nothing internal", old: "API_KEY", by: unknownKey},
	"no challenge":           {group: "Authentication", finding: "WWW-Authenticate: got", old: "Www-Authenticate:", by: "X:"},
	"a 401 that says why":    {group: "Authentication", finding: "want that of the other cases", old: `error="invalid_token"`, by: "error=\"invalid_token\"\r\n\r\n{}"},
	"no Allow":               {group: "Methods", finding: "Allow: got", old: "Allow:", by: "X:"},
	"no Link":                {group: "Lists", finding: "walk: got", old: "Link:", by: "X:"},
	"a Link without filter":  {group: "Lists", finding: "no property by which it selects", old: "&status=pending", by: ""},
	"an unseen response":     {group: "Coverage", finding: "getPet 404: got no such response"},

	"the filter ignored":     {group: "Lists", finding: "no property by which it selects", request: query("status=", "other=")},
	"after ignored":          {group: "Lists", finding: "got a link to it", request: query("after=", "other=")},
	"a limit too many":       {group: "EveryOperation", finding: "want 400", request: query("limit=101", "")},
	"another limit":          {group: "Lists", finding: "if another follows", request: query("limit=7", "limit=6")},
	"another default":        {group: "Lists", finding: "if another follows", request: func(r *http.Request) { r.URL.RawQuery = cmp.Or(r.URL.RawQuery, "limit=1") }},
	"repeated creates":       {group: "Retry", finding: "the second time", request: func(r *http.Request) { r.Header.Del("Idempotency-Key") }},
	"an open operation":      {group: "EveryOperation", finding: "want 401", request: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+program.Key) }},
	"two keys taken for one": {group: "Authentication", finding: "want 401", request: func(r *http.Request) { r.Header.Set("Authorization", r.Header.Get("Authorization")) }},
}

func query(old, by string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, old, by) }
}

// TestFaults tests that the cases find the faults in a service.
func TestFaults(t *testing.T) {
	h, server := newService(t, memory.New())
	for name, f := range faults {
		faulty := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.request != nil {
				f.request(r)
			}
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			resp := rec.Result()
			resp.ContentLength = -1 // the body may change
			text, _ := httputil.DumpResponse(resp, true)
			if f.old != "" {
				text = bytes.ReplaceAll(text, []byte(f.old), []byte(f.by))
			}
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = conn.Write(text)
			_ = conn.Close()
		})
		t.Run(name, func(t *testing.T) {
			server.URL = serve(t, faulty)
			s, found := newSuite(t, server), collector{}
			for _, g := range groups {
				if g.name == f.group {
					g.run(s, &found)
				}
			}
			if !strings.Contains(strings.Join(found, "\n"), f.finding) {
				t.Errorf("%s: got %q, want a finding with %q", f.group, found, f.finding)
			}
		})
	}
}

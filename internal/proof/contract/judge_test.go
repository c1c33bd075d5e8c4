package contract

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/memory"
)

// collector is a runner that records what the cases report.
type collector struct{ found []string }

func (c *collector) Run(_ string, f func(reporter)) { f(c) }

func (c *collector) Errorf(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// findings returns what one group of cases reports about a service.
func findings(t *testing.T, group string, h http.Handler, server Server) []string {
	t.Helper()
	server.URL = serve(t, h)
	s, err := newSuite(server)
	if err != nil {
		t.Fatal(err)
	}
	c := &collector{}
	for _, g := range groups {
		if g.name == group {
			g.run(s, c)
			return c.found
		}
	}
	t.Fatalf("group %s: got none, want one of groups", group)
	return nil
}

// fault is one thing that a service does wrong. It may change the request
// before the service sees it, and the response before the client does.
type fault struct {
	name, group, finding string // group finds the fault; its report contains finding
	request              func(*http.Request)
	response             func(*http.Request, *httptest.ResponseRecorder)
}

func (f fault) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := r.Clone(r.Context())
		if f.request != nil {
			f.request(r)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if f.response != nil {
			f.response(asked, rec)
		}
		header := rec.Header()
		header.Del("Content-Length") // the body may have changed
		maps.Copy(w.Header(), header)
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	})
}

// on applies change to responses with a status.
func on(status int, change func(*httptest.ResponseRecorder)) func(*http.Request, *httptest.ResponseRecorder) {
	return func(_ *http.Request, rec *httptest.ResponseRecorder) {
		if rec.Code == status {
			change(rec)
		}
	}
}

func status(code int) func(*httptest.ResponseRecorder) {
	return func(rec *httptest.ResponseRecorder) { rec.Code = code }
}

func without(header string) func(*httptest.ResponseRecorder) {
	return func(rec *httptest.ResponseRecorder) { rec.Header().Del(header) }
}

func having(header, value string) func(*httptest.ResponseRecorder) {
	return func(rec *httptest.ResponseRecorder) { rec.Header().Set(header, value) }
}

func replaced(old, by string) func(*httptest.ResponseRecorder) {
	return func(rec *httptest.ResponseRecorder) {
		rec.Body = bytes.NewBuffer(bytes.ReplaceAll(rec.Body.Bytes(), []byte(old), []byte(by)))
	}
}

func query(old, by string) func(*http.Request) {
	return func(r *http.Request) { r.URL.RawQuery = strings.ReplaceAll(r.URL.RawQuery, old, by) }
}

var faults = []fault{
	{name: "another success", group: "Writes", finding: "status: got 206", response: on(200, status(206))},
	{name: "a field renamed", group: "Writes", finding: `"categoryId" is missing`, response: on(200, replaced(`"categoryId"`, `"category"`))},
	{name: "a field retyped", group: "Writes", finding: "must be an integer", response: on(201, replaced(`"categoryId":`, `"categoryId":"-7","x":`))},
	{name: "no status in Pet", group: "Writes", finding: "want a status in every Pet", response: on(200, replaced(`"status":`, `"state":`))},
	{name: "rounded integers", group: "ValidBody", finding: "want {ID:", response: on(201, replaced("9007199254740993", "9007199254740992"))},
	{name: "no Location", group: "Writes", finding: "Location", response: on(201, without("Location"))},
	{name: "no request id", group: "RequestID", finding: "X-Request-Id: got []", response: on(200, without("X-Request-Id"))},
	{name: "cacheable", group: "Writes", finding: "Cache-Control", response: on(200, having("Cache-Control", "max-age=60"))},
	{name: "text", group: "Limit", finding: "Content-Type", response: on(400, having("Content-Type", "text/plain"))},
	{name: "a message of a library", group: "Query", finding: "nothing internal", response: on(400, replaced("must be an integer", `strconv.ParseInt: invalid syntax`))},
	{name: "no challenge", group: "Authentication", finding: "WWW-Authenticate", response: on(401, without("WWW-Authenticate"))},
	{name: "403 for 401", group: "EveryOperation", finding: "got 403", response: on(401, status(403))},
	{name: "401 after 400", group: "EveryOperation", finding: "got 400", response: func(r *http.Request, rec *httptest.ResponseRecorder) {
		if r.URL.RawQuery == "%zz" {
			rec.Code = 400
		}
	}},
	{name: "an open operation", group: "EveryOperation", finding: "want 401", request: func(r *http.Request) {
		if r.Method == http.MethodPost {
			r.Header.Set("Authorization", "Bearer "+program.Key)
		}
	}},
	{name: "two keys taken for one", group: "Authentication", finding: "want 401", request: func(r *http.Request) {
		if keys := r.Header["Authorization"]; len(keys) > 1 {
			r.Header["Authorization"] = keys[:1]
		}
	}},
	{name: "no Allow", group: "EveryOperation", finding: "Allow", response: on(405, without("Allow"))},
	{name: "OPTIONS with 200", group: "EveryOperation", finding: "want 204", response: on(204, status(200))},
	{name: "no Accept", group: "MediaType", finding: "Accept: got []", response: on(415, without("Accept"))},
	{name: "no Deprecation", group: "PetID", finding: "Deprecation: got", response: on(404, without("Deprecation"))},
	{name: "another Sunset", group: "PetID", finding: "Sunset", response: on(400, having("Sunset", "Fri, 06 Dec 2030 00:00:00 GMT"))},
	{name: "Deprecation of another operation", group: "Writes", finding: "Deprecation: got", response: on(201, having("Deprecation", "@1795219200"))},
	{name: "no Link", group: "Paging", finding: "times, want once", response: on(200, without("Link"))},
	{name: "a Link without the filter", group: "Paging", finding: "Link: got", response: func(_ *http.Request, rec *httptest.ResponseRecorder) {
		if link := rec.Header().Get("Link"); link != "" {
			rec.Header().Set("Link", strings.Replace(link, "&status=sold", "", 1))
		}
	}},
	{name: "a Link on the last page", group: "Query", finding: "Link: got", response: on(200, having("Link", `</v1/pets?after=1>; rel="next"`))},
	{name: "the filter ignored", group: "Paging", finding: "want only", request: query("status=", "other=")},
	{name: "after ignored", group: "Paging", finding: "want pets after", request: query("after=", "other=")},
	{name: "limit by one", group: "Limit", finding: "want 400", request: query("limit=101", "limit=100")},
	{name: "another default limit", group: "Limit", finding: "want 20", request: func(r *http.Request) {
		if r.URL.RawQuery == "" {
			r.URL.RawQuery = "limit=10"
		}
	}},
	{name: "retries create", group: "Retry", finding: "the second time", request: func(r *http.Request) { r.Header.Del("Idempotency-Key") }},
	{name: "another document", group: "Beside", finding: "other bytes", response: func(r *http.Request, rec *httptest.ResponseRecorder) {
		if r.URL.Path == "/openapi.yaml" {
			rec.Body.WriteByte('\n')
		}
	}},
}

// TestFaults tests that the cases find the faults in a service.
func TestFaults(t *testing.T) {
	h, server := newService(t, memory.New())
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			found := findings(t, f.group, f.wrap(h), server)
			if !strings.Contains(strings.Join(found, "\n"), f.finding) {
				t.Errorf("%s: got %q, want a finding with %q", f.group, found, f.finding)
			}
		})
	}
}

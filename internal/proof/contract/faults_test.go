package contract

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/petstore/internal/proof/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/proof/property"
	"example.com/petstore/internal/store/memory"
)

// collector is a T that records what the cases report.
type collector struct{ found []string }

func (c *collector) Run(_ string, f func(T)) { f(c) }

func (c *collector) Errorf(format string, args ...any) {
	c.found = append(c.found, fmt.Sprintf(format, args...))
}

// findings returns what one group of cases reports about a service.
func findings(t *testing.T, group string, h http.Handler, server Server, change func(*suite)) string {
	t.Helper()
	server.URL = serve(t, h)
	s := newSuite(t, server)
	change(s)
	c := &collector{}
	for _, g := range groups {
		if g.name == group {
			g.run(s, c)
		}
	}
	return strings.Join(c.found, "\n")
}

// faults are things that a service does wrong: it replaces text in its responses, or
// changes requests. The group finds it, and what it reports contains finding.
var faults = map[string]struct {
	group, finding string
	old, by        string
	request        func(*http.Request)
}{
	"another success":        {group: "Writes", finding: "status is not supported", old: " 200 OK", by: " 206 Partial Content"},
	"a field renamed":        {group: "Writes", finding: `"categoryId" is missing`, old: `"categoryId"`, by: `"category"`},
	"no status in Pet":       {group: "Writes", finding: `"status" is missing`, old: `"status":"`, by: `"state":"`},
	"rounded integers":       {group: "ValidBody", finding: "created, categoryId: got 9007199254740992", old: "9007199254740993", by: "9007199254740992"},
	"no Location":            {group: "Writes", finding: "Location: got", old: "Location:", by: "X:"},
	"no request id":          {group: "Paths", finding: "X-Request-Id: got []", old: "X-Request-Id:", by: "X:"},
	"a message of a library": {group: "Parameters", finding: "nothing internal", old: "must be an integer", by: "strconv.ParseInt: invalid"},
	"a key in a message":     {group: "Authentication", finding: "nothing internal", old: "API_KEY", by: unknownKey},
	"another code":           {group: "Parameters", finding: "code: got", old: "invalid_parameter", by: "bad_parameter"},
	"no challenge":           {group: "Authentication", finding: "WWW-Authenticate: got", old: "Www-Authenticate:", by: "X:"},
	"a 401 that says why":    {group: "Authentication", finding: "want that of the other cases", old: `error="invalid_token"`, by: "error=\"invalid_token\"\r\n\r\n{}"},
	"no Allow":               {group: "Methods", finding: "Allow: got", old: "Allow:", by: "X:"},
	"no Deprecation":         {group: "Parameters", finding: "Deprecation: got", old: "Deprecation:", by: "X:"},
	"a deprecated create":    {group: "Writes", finding: "Deprecation: got", old: "X-Request-Id:", by: "Deprecation: @1795219200\r\nX-Request-Id:"},
	"no Link":                {group: "Paging", finding: "walk: got", old: "Link:", by: "X:"},
	"a Link with no filter":  {group: "Paging", finding: "Link: got", old: "&status=" + statuses()[1], by: ""},
	"another document":       {group: "Paths", finding: "body: got", old: "openapi: 3", by: "openapi:  3"},
	"an unseen response":     {group: "Coverage", finding: "getPet 404: got no such response"},

	"the filter ignored":     {group: "Paging", finding: "walk: got", request: query("status=", "other=")},
	"after ignored":          {group: "Paging", finding: "want pets after", request: query("after=", "other=")},
	"a limit too many":       {group: "Parameters", finding: "want 400", request: query(fmt.Sprint("limit=", *example.Parameter("limit").Max+1), "")},
	"a page too short":       {group: "Paging", finding: "if another follows", request: query("limit=7", "limit=6")},
	"another default":        {group: "Paging", finding: "without a limit", request: func(r *http.Request) { r.URL.RawQuery = cmp.Or(r.URL.RawQuery, "limit=1") }},
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
			if found := findings(t, f.group, faulty, server, func(*suite) {}); !strings.Contains(found, f.finding) {
				t.Errorf("%s: got %q, want a finding with %q", f.group, found, f.finding)
			}
		})
	}
}

// shelf returns a service with PUT and DELETE, which may have one fault.
func shelf(fault string) http.Handler {
	var all []resource
	answer := func(w http.ResponseWriter, status int, v any) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, property.Encode(v))
	}
	read := func(r *http.Request) resource {
		text, _ := io.ReadAll(r.Body)
		return decode(string(text))
	}
	mux, path := http.NewServeMux(), example.Base()+"/pets"
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		p := read(r)
		p["id"] = json.Number(fmt.Sprint(len(all) + 1))
		all = append(all, p)
		w.Header().Set("Location", fmt.Sprintf("%s/%v", path, p["id"]))
		answer(w, http.StatusCreated, p)
	})
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		page, status := []resource{}, r.FormValue("status")
		for i, p := range all {
			matches := (status == "" || p["status"] == status) && fmt.Sprint(i) == r.FormValue("after")
			if matches && (p["removed"] == nil || fault == "leaves" && status != "") {
				page = append(page, p)
			}
		}
		answer(w, http.StatusOK, page)
	})
	mux.HandleFunc(path+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(all, func(p resource) bool { return fmt.Sprint(p["id"]) == r.PathValue("id") && p["removed"] == nil })
		switch {
		case i < 0:
			answer(w, http.StatusNotFound, nil)
		case r.Method == http.MethodPut:
			p := read(r)
			p["id"] = all[i]["id"]
			answer(w, http.StatusOK, p)
			if fault == "forgets" {
				p["categoryId"] = all[i]["categoryId"]
			}
			all[i] = p
		case r.Method == http.MethodDelete:
			all[i]["removed"] = true
			w.WriteHeader(http.StatusNoContent)
		default:
			answer(w, http.StatusOK, all[i])
		}
	})
	return mux
}

// TestWrites tests that a PUT that forgets a property, a DELETE that leaves a pet in a
// filtered list, and an operation of an unknown form are found.
func TestWrites(t *testing.T) {
	for fault, want := range map[string]string{
		"":        "",
		"forgets": "read by get, categoryId: got",
		"leaves":  "read by list with status=",
		"unknown": "sellPet: got no flow",
	} {
		found := findings(t, "Writes", shelf(fault), Server{Key: "any"}, func(s *suite) {
			item, create := s.document.Paths.Value("/pets/{petId}"), s.document.Paths.Value("/pets").Post
			item.Put = &openapi3.Operation{OperationID: "putPet", RequestBody: create.RequestBody, Responses: item.Get.Responses}
			item.Delete = &openapi3.Operation{OperationID: "deletePet", Responses: openapi3.NewResponses(openapi3.WithStatus(http.StatusNoContent, item.Get.Responses.Status(http.StatusOK)))}
			if fault == "unknown" {
				s.document.Paths.Set("/pets/{petId}/sale", &openapi3.PathItem{Post: &openapi3.Operation{OperationID: "sellPet"}})
			}
		})
		if of := strings.Join(regexp.MustCompile(`.*(read by|no flow).*`).FindAllString(found, -1), "\n"); !strings.Contains(of, want) || want == "" && of != "" {
			t.Errorf("%s: got %q, want %q", fault, of, want)
		}
	}
}

package check_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/check"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/proof/petstoretest"
)

const key = "an-api-key-for-the-tests"

// rightHandler is this repository's own service, on a store in memory of n animals.
func rightHandler(t testing.TB, n int) http.Handler {
	t.Helper()
	store := memory.New()
	for i := range n {
		p := pets.NewPet{Name: fmt.Sprint("pet ", i+1), CategoryID: int64(i), Status: pets.Statuses()[i%3]}
		if _, err := store.CreatePet(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	return petstoretest.Must(t, store, key)
}

// serve serves handler and returns how to check it.
func serve(t testing.TB, handler http.Handler) check.Config {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return configFor(t, server.URL+"/v1")
}

func configFor(t testing.TB, address string) check.Config {
	t.Helper()
	base, err := check.ParseBase(address)
	if err != nil {
		t.Fatal(err)
	}
	return check.Config{Base: base, Key: key, Write: true, Timeout: 20 * time.Second}
}

func run(t testing.TB, cfg check.Config) check.Report {
	t.Helper()
	report, err := check.Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("checking: got error %v, want rules", err)
	}
	return report
}

// of returns the rules of that verdict, sorted by title.
func of(report check.Report, verdict check.Verdict) (titles []string) {
	for _, r := range report.Results {
		if r.Verdict == verdict {
			titles = append(titles, r.Title)
		}
	}
	slices.Sort(titles)
	return titles
}

// exchange is one request and its response on the way through a wrong server.
type exchange struct {
	request *http.Request
	sent    string // the request's body
	status  int
	header  http.Header
	body    string
}

func (x *exchange) key() string   { return x.request.Header.Get("Idempotency-Key") }
func (x *exchange) query() string { return x.request.URL.RawQuery }
func (x *exchange) path() string  { return strings.TrimPrefix(x.request.URL.Path, "/v1") }

func (x *exchange) method(names ...string) bool { return slices.Contains(names, x.request.Method) }
func (x *exchange) keyed() bool                 { return x.request.Header.Get("Authorization") != "" }

func (x *exchange) listed() bool {
	return x.method("GET") && x.path() == "/pets" && x.status == 200
}
func (x *exchange) added() bool { return x.method("POST") && x.status == 201 }
func (x *exchange) fetched() bool {
	return x.method("GET", "HEAD") && strings.HasPrefix(x.path(), "/pets/") && x.status == 200
}

// fails makes the response an Error body of that status.
func (x *exchange) fails(status int, code string) {
	x.status = status
	x.body = fmt.Sprintf(`{"code":%q,"message":"no","status":%d}`, code, status)
	x.header.Set("Content-Type", "application/json")
}

// setQuery replaces the query string.
func (x *exchange) setQuery(raw string) {
	x.request.URL.RawQuery = raw
	x.request.RequestURI = x.request.URL.RequestURI()
}

// wrong is a server that asks the right one and changes the request before or
// the response after.
func wrong(right http.Handler, before, after func(*exchange)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		x := &exchange{request: r, sent: string(sent)}
		if before != nil {
			before(x)
		}
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(x.sent)), int64(len(x.sent))
		recorded := httptest.NewRecorder()
		if x.status == 0 {
			right.ServeHTTP(recorded, r)
			x.status, x.header, x.body = recorded.Code, recorded.Header(), recorded.Body.String()
		}
		if after != nil {
			after(x)
		}
		for name, values := range x.header {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(x.status)
		_, _ = io.Copy(w, bytes.NewBufferString(x.body)) // the check may be gone
	})
}

//go:build !race

package service_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/storetest"
)

// response is a response that nobody reads.
type response struct{ header http.Header }

func (r response) Header() http.Header       { return r.header }
func (response) Write(p []byte) (int, error) { return len(p), nil }
func (response) WriteHeader(int)             {}

// TestAllocations checks how many values a request allocates, which decides what it costs.
// Somebody who allocates more for a reason raises the number, and says why beside it. The
// race detector allocates too.
func TestAllocations(t *testing.T) {
	const tolerated = 5 // for other releases of Go and of the libraries
	for kind, c := range map[string]struct{ list, get float64 }{
		// Middleware, the context with its deadline, headers, validation, JSON and the line of the
		// log; the 20 rows of a page share two slices.
		"memory": {36, 35},
		// In addition a transaction of database/sql, and five values for each row: an integer or
		// a text as driver.Value, and the copy of a text.
		"sqlite": {138, 60},
	} {
		start := program.Stores[kind]
		if start == nil { // it was taken out
			continue
		}
		st := program.Open(t, start(t)())
		storetest.Fill(t, st, 19)
		h := program.NewHandler(st, slog.New(slog.NewJSONHandler(io.Discard, nil)))
		newRequest := func(method, target, body string) *http.Request {
			r := httptest.NewRequest(method, target, strings.NewReader(body))
			r.Header = http.Header{"Authorization": {"Bearer " + program.Key}, "Content-Type": {"application/json"}}
			return r
		}
		created := httptest.NewRecorder()
		h.ServeHTTP(created, newRequest(http.MethodPost, example.ListPath(), example.Body()))
		for target, want := range map[string]float64{example.ListPath(): c.list, created.Header().Get("Location"): c.get} {
			r, w := newRequest(http.MethodGet, target, ""), response{http.Header{}}
			got := testing.AllocsPerRun(500, func() {
				clear(w.header)
				h.ServeHTTP(w, r)
			})
			if got > want+tolerated {
				t.Errorf("GET %s from %s: got %v allocations, want %v", target, kind, got, want)
			}
		}
	}
}

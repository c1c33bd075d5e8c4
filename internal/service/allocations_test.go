//go:build !race

package service_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/petstore/internal/example"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store/storetest"
)

// TestAllocations checks how many values a request allocates, which decides what it costs. Somebody who allocates
// more for a reason raises the number, and says why beside it. The race detector allocates too.
func TestAllocations(t *testing.T) {
	const tolerated = 5 // for other releases of Go and of the libraries
	for kind, c := range map[string]struct{ list, get float64 }{
		"memory": {36, 35},  // the 20 rows of a page share two slices
		"sqlite": {138, 60}, // in addition a transaction, and five values for each row
	} {
		start := program.Stores[kind]
		if start == nil { // it was taken out
			continue
		}
		st := program.Open(t, start(t)())
		storetest.Fill(t, st, 20)
		h := program.NewHandler(st, slog.New(slog.NewJSONHandler(io.Discard, nil)))
		for target, want := range map[string]float64{example.ListPath(): c.list, example.ListPath() + "/1": c.get} {
			r := httptest.NewRequest(http.MethodGet, target, nil)
			r.Header.Set("Authorization", "Bearer "+program.Key)
			w := httptest.NewRecorder()
			w.Body = nil // nobody reads it
			got := testing.AllocsPerRun(500, func() {
				clear(w.Header())
				h.ServeHTTP(w, r)
			})
			assert.LessOrEqual(t, got, want+tolerated, "GET %s from %s", target, kind)
			assert.Equal(t, http.StatusOK, w.Code, "GET %s from %s", target, kind)
		}
	}
}

//go:build !race

package bench

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/keys"
	"example.com/petstore/internal/proof/bench/peers"
	"example.com/petstore/internal/proof/program"
	"example.com/petstore/internal/store"
	"example.com/petstore/internal/store/memory"
)

// TestHandlerAllocations fails if petstore's handler allocates more often than that
// of the peer that uses the same libraries.
func TestHandlerAllocations(t *testing.T) {
	logger := edge.NewLogger(io.Discard, false, slog.LevelInfo, keys.Pattern, program.Key) // as serve makes it
	ours, err := program.NewHandler(store.Observe(memory.New(), prometheus.NewRegistry()), logger)
	if err != nil {
		t.Fatal(err)
	}
	theirs := peers.New(peers.Documented, "memory:", io.Discard)
	for _, o := range operations {
		if ours, theirs := allocations(t, ours, o), allocations(t, theirs, o); ours > theirs {
			t.Errorf("%s: got %v allocations, but %s makes %v", o.name, ours, peers.Documented, theirs)
		}
	}
}

// allocations returns how often a handler allocates for a request of an operation, on
// a store with 2,000 pets.
func allocations(t *testing.T, h http.Handler, o operation) float64 {
	const pets = 2000
	send := func(o operation, r request) {
		sent := httptest.NewRequest(r.method, r.path, strings.NewReader(r.body))
		sent.Header = http.Header{"Authorization": {"Bearer " + program.Key}, "Content-Type": {"application/json"}, "User-Agent": {"bench"}, "Accept": {"*/*"}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, sent)
		if w.Code != o.status {
			t.Fatalf("%s %s: got status %d, want %d", r.method, r.path, w.Code, o.status)
		}
	}
	for _, r := range create.requests(pets, 0, 1) {
		send(create, r)
	}
	requests, next := o.requests(1000, pets, 2), 0
	return testing.AllocsPerRun(1000, func() {
		send(o, requests[next%len(requests)])
		next++
	})
}

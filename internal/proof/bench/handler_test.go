package bench

import (
	"io"
	"log/slog"
	"net/http"
	"net/url"
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

// BenchmarkHandler compares petstore's handler with those of the peers, without a
// network. It includes the making of a request, which "nothing" measures alone.
func BenchmarkHandler(b *testing.B) {
	for _, o := range operations {
		b.Run(o.name, func(b *testing.B) {
			for _, name := range []string{petstore, peers.Documented, peers.Plain, "nothing"} {
				b.Run(name, func(b *testing.B) {
					call := caller(b, name, o)
					b.ReportAllocs()
					for b.Loop() {
						call()
					}
				})
			}
		})
	}
}

// handler returns the handler of petstore or a peer, on an empty store in memory.
func handler(t testing.TB, name string) http.Handler {
	switch name {
	case petstore: // as serve makes it
		logger := edge.NewLogger(io.Discard, false, slog.LevelInfo, keys.Pattern, program.Key)
		h, err := program.NewHandler(store.Observe(memory.New(), prometheus.NewRegistry()), logger)
		if err != nil {
			t.Fatal(err)
		}
		return h
	case "nothing":
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})
	}
	return peers.New(name, "memory:", io.Discard)
}

// caller returns a function that sends the next request of an operation to a
// handler whose store has 2,000 pets.
func caller(t testing.TB, name string, o operation) (call func()) {
	const pets = 2000
	h := handler(t, name)
	send := func(o operation, r request) {
		w := &writer{header: http.Header{}}
		h.ServeHTTP(w, newRequest(t, r))
		if w.status != o.status && name != "nothing" {
			t.Fatalf("%s: %s %s: got status %d, want %d", name, r.method, r.path, w.status, o.status)
		}
	}
	for _, r := range create.requests(pets, 0, 1) {
		send(create, r)
	}
	requests, next := o.requests(1000, pets, 2), 0
	return func() {
		send(o, requests[next%len(requests)])
		next++
	}
}

// newRequest returns what net/http would read.
func newRequest(t testing.TB, r request) *http.Request {
	u, err := url.ParseRequestURI(r.path)
	if err != nil {
		t.Fatal(err)
	}
	body := io.NopCloser(strings.NewReader(r.body))
	if r.body == "" {
		body = http.NoBody
	}
	return &http.Request{
		Method: r.method, URL: u, RequestURI: r.path, Host: "127.0.0.1:8080", RemoteAddr: "127.0.0.1:50000", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Authorization": {"Bearer " + program.Key}, "Content-Type": {"application/json"}, "User-Agent": {"bench"}, "Accept": {"*/*"}},
		Body:   body, ContentLength: int64(len(r.body)),
	}
}

// writer is an http.ResponseWriter that keeps the status.
type writer struct {
	header http.Header
	status int
}

func (w *writer) Header() http.Header { return w.header }

func (w *writer) WriteHeader(status int) { w.status = status }

func (w *writer) Write(b []byte) (int, error) { return len(b), nil }

package bench

import (
	"context"
	"io"
	"net/http"
	"testing"

	"example.com/petstore/internal/edge/logging"
	"example.com/petstore/internal/pets"
	"example.com/petstore/internal/pets/store/memory"
	"example.com/petstore/internal/pets/web"
	"example.com/petstore/internal/proof/bench/peers"
	"example.com/petstore/internal/proof/petstoretest"
)

// petstoreHandler is this service in its default configuration, on memory.
func petstoreHandler(tb testing.TB) http.Handler {
	tb.Helper()
	st := memory.New()
	for i := range peers.Pets {
		p := pets.NewPet{Name: peers.Name(i), CategoryID: int64(i % 5), Status: pets.Status(peers.Status(i))}
		if _, err := st.CreatePet(context.Background(), p); err != nil {
			tb.Fatal(err)
		}
	}
	logger, end := logging.New(io.Discard, logging.Options{KeyPattern: web.KeyPattern})
	tb.Cleanup(end)
	return petstoretest.Must(tb, st, peers.Key, func(c *petstoretest.Config) {
		c.Logger = logger // a log line is a part of the cost
	})
}

// eachServer calls f with this service and every peer.
func eachServer(tb testing.TB, f func(name string, h http.Handler)) {
	tb.Helper()
	f("petstore", petstoreHandler(tb))
	for _, p := range peers.All() {
		h, err := p.New(io.Discard)
		if err != nil {
			tb.Fatal(err)
		}
		f(p.Name, h)
	}
}

func prepare(tb testing.TB, op Operation) (*request, *response) {
	tb.Helper()
	q, err := newRequest(op)
	if err != nil {
		tb.Fatal(err)
	}
	return q, &response{header: http.Header{}}
}

func BenchmarkHTTP(b *testing.B) {
	eachServer(b, func(name string, h http.Handler) {
		for _, op := range Operations() {
			b.Run(op.Name+"/server="+name, func(b *testing.B) {
				q, resp := prepare(b, op)
				b.ReportAllocs()
				for b.Loop() {
					q.send(h, resp)
				}
			})
		}
	})
}

func TestEveryServerDoesTheSameWork(t *testing.T) {
	sizes := map[string]int{}
	eachServer(t, func(name string, h http.Handler) {
		for _, op := range Operations() {
			q, resp := prepare(t, op)
			q.send(h, resp)
			if resp.status != op.Status {
				t.Errorf("%s, %s: got status %d, want %d", name, op.Name, resp.status, op.Status)
			}
			// Servers differ in a final newline, and in how many digits the new
			// pet's identifier has.
			if want, ok := sizes[op.Name]; ok && (resp.size < want-4 || resp.size > want+4) {
				t.Errorf("%s, %s: got %d bytes, want about %d", name, op.Name, resp.size, want)
			}
			sizes[op.Name] = resp.size
		}
	})
}

package edge

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
)

func TestTraces(t *testing.T) {
	var mu sync.Mutex
	var exported strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&exported, r.Body)
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	s, log := newServer(t, newHandlers(), nil)
	stop, err := s.startTracing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := newRequest("GET", "/v1/books/7", "")
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	r.Header.Set("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")
	do(s, r)
	if got := logged(t, log.String())["trace_id"]; got != id {
		t.Errorf("trace_id in the log: got %v, want %s of the client", got, id)
	}
	if err := stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if otel.Handle(errors.New("refused")); !strings.Contains(log.String(), `"level":"WARN","msg":"traces","error":"refused"`) {
		t.Errorf("log: got %q, want a failed export in it", log)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"GET /v1/books/:id", "http.response.status_code"} {
		if !strings.Contains(exported.String(), want) {
			t.Errorf("got %q, want %q in it", exported.String(), want)
		}
	}
}

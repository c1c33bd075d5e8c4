package edge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// logged decodes the only line of a log.
func logged(t *testing.T, log string) map[string]any {
	t.Helper()
	var line map[string]any
	if err := json.Unmarshal([]byte(log), &line); err != nil {
		t.Fatalf("log: got %q, want one line of JSON", log)
	}
	return line
}

// TestAccessLog checks the line of a request, which has no query, header or body, and no
// characters that move a cursor or change the direction of text.
func TestAccessLog(t *testing.T) {
	s, log := newHandler(t, func(_ *library, o *Options) {
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	r := newRequest("PUT", "/v1/notes/%7F%C2%9B%E2%80%AE/text?api_key=secret", `{"title":"sec"}`)
	r.Header.Set("X-Request-Id", "the-id")
	r.Header.Set("X-Forwarded-For", "203.0.113.9, 198.51.100.7")
	r.Header.Set("Cookie", "secret")
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	do(s, r)
	line := logged(t, log.String())
	for name, want := range map[string]any{
		"level": "INFO", "msg": "request", "method": "PUT", "route": "/v1/notes/:name/text", "path": "/v1/notes/%7F%C2%9B%E2%80%AE/text", "status": 200.0,
		"bytes": 12.0, "request_id": "the-id", "remote": "198.51.100.7", "key": testKey, "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
	} {
		if line[name] != want {
			t.Errorf("%s: got %v, want %v", name, line[name], want)
		}
	}
	if strings.Contains(log.String(), "sec\"") || strings.Contains(log.String(), "secret") {
		t.Errorf("got %s, want no query, header or body", log)
	}

	log.Reset()
	do(s, get("http://books.example"))
	if got := logged(t, log.String())["path"]; got != "/" {
		t.Errorf("a URL without a path: got %v, want /", got)
	}
}

func TestLogLevels(t *testing.T) {
	s, log := newHandler(t, func(l *library, _ *Options) {
		l.ready = func(context.Context) error { return errors.New("the store is away") }
	})
	for _, c := range []struct{ path, key, want string }{ // the status, the level, the key, the reason and the error
		{"/livez", testKey, "200 DEBUG, , <nil>, <nil>"},
		{"/readyz", testKey, "503 WARN, , <nil>, the store is away"},
		{"/v1/books?limit=0", testKey, "400 INFO, the-key-of-the-tests, <nil>, <nil>"},
		{"/v1/books", oldKey, "401 INFO, a-key-that-expired, expired, <nil>"},
		{"/v1/books", brokeKey, "503 ERROR, , <nil>, no connection to the keys"},
	} {
		log.Reset()
		status := do(s, withKey(get(c.path), c.key)).Code
		line := logged(t, log.String())
		got := fmt.Sprintf("%d %v, %v, %v, %v", status, line["level"], line["key"], line["reason"], line["error"])
		if got != c.want {
			t.Errorf("%s: got %s, want %s", c.path, got, c.want)
		}
	}
}

// slowLog is a log of which each line takes a second to write.
type slowLog struct{}

func (slowLog) Write(line []byte) (int, error) {
	time.Sleep(time.Second)
	return len(line), nil
}

// TestMetrics checks the metrics of requests, whose time includes that for which a response
// waits for the log.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		s, _ := newHandler(t, func(l *library, o *Options) {
			o.Metrics, o.Logger = registry, slog.New(slog.NewJSONHandler(slowLog{}, nil))
			l.ready = func(context.Context) error { return errors.New("away") }
		})
		for path, want := range map[string]string{
			"/v1/books":         `sum{operation="listBooks",status="200"} 1`,
			"/v1/books?limit=0": `sum{operation="listBooks",status="400"} 1`,
			"/nowhere":          `sum{operation="unknown",status="404"} 1`,
			"/readyz":           "\nready 0",
		} {
			go do(s, get(path))
			for _, want := range []string{"http_requests_in_flight 1", want} {
				synctest.Wait()
				got := do(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), get("/metrics")).Body.String()
				if !strings.Contains(got, want+"\n") {
					t.Errorf("%s: got %s, want %s in it", path, got, want)
				}
				time.Sleep(time.Second)
			}
		}
	})
}

func TestTraceID(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	const header = "00-" + id + "-00f067aa0ba902b7-01"
	s, log := newHandler(t, nil)
	for header, want := range map[string]any{
		header: id, "": nil, header + "-later": nil, strings.ToUpper(header): nil, header[1:]: nil, header + "|" + header: nil, // two headers
	} {
		log.Reset()
		r := get("/v1/books")
		r.Header["Traceparent"] = strings.Split(header, "|")
		do(s, r)
		if got := logged(t, log.String())["trace_id"]; got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}

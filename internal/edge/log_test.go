package edge

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
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

func TestAccessLog(t *testing.T) {
	s, log := newServer(t, newHandlers(), func(_ *testService, o *Options) {
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	})
	r := newRequest("POST", "/v1/books?api_key=secret-in-query", `{"title":"sec"}`)
	r.Header.Set("X-Request-Id", "the-id")
	r.Header.Set("X-Forwarded-For", "203.0.113.9, 198.51.100.7")
	r.Header.Set("Cookie", "secret-in-header")
	do(s, r)
	line := logged(t, log.String())
	for name, want := range map[string]any{
		"level": "INFO", "msg": "request", "method": "POST", "route": "/v1/books", "path": "/v1/books",
		"status": 201.0, "request_id": "the-id", "remote": "198.51.100.7", "key": "tester",
	} {
		if line[name] != want {
			t.Errorf("%s: got %v, want %v", name, line[name], want)
		}
	}
	if strings.Contains(log.String(), "sec\"") || strings.Contains(log.String(), "secret") {
		t.Errorf("got %s, want no query, header or body", log)
	}
}

func TestLogLevels(t *testing.T) {
	ready := errors.New("the store is away")
	h := newHandlers()
	h["listBooks"] = func(c echo.Context) error { return errors.Join(sendOK(c), errors.New("broken pipe")) }
	h["getBook"] = func(echo.Context) error { panic("a fault") }
	s, log := newServer(t, h, func(s *testService, _ *Options) {
		s.ready = func(context.Context) error { return ready }
	})
	line := func(r *http.Request) map[string]any {
		log.Reset()
		do(s, r)
		return logged(t, log.String())
	}
	if got := line(newRequest("GET", "/livez", "")); got["level"] != "DEBUG" {
		t.Errorf("a probe: got %v, want DEBUG", got)
	}
	if got := line(newRequest("GET", "/readyz", "")); got["level"] != "WARN" || got["error"] != "the store is away" {
		t.Errorf("not ready: got %v, want WARN with the reason", got)
	}
	r := newRequest("GET", "/v1/books", "")
	r.Header.Set("Authorization", "Bearer "+oldKey)
	if got := line(r); got["level"] != "INFO" || got["reason"] != "expired" || got["key"] != "old" {
		t.Errorf("an expired key: got %v, want INFO with reason and key", got)
	}
	r.Header.Set("Authorization", "Bearer "+brokeKey)
	if got := line(r); got["level"] != "ERROR" || got["error"] != "no connection to the keys" {
		t.Errorf("a key that cannot be checked: got %v, want ERROR with the cause", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r = newRequest("GET", "/v1/books", "")
	if got := line(r); got["level"] != "WARN" || got["error"] != "broken pipe" {
		t.Errorf("a response cut short: got %v, want WARN with the cause", got)
	}
	if got := line(r.WithContext(ctx)); got["level"] != "INFO" {
		t.Errorf("a client that left: got %v, want INFO", got)
	}
	if got := line(newRequest("GET", "/v1/books/1", "").WithContext(ctx)); got["level"] != "ERROR" || !strings.Contains(got["error"].(string), "a fault") {
		t.Errorf("a panic without a client: got %v, want ERROR with the cause", got)
	}
}

func TestLogHidesKeys(t *testing.T) {
	s, log := newServer(t, newHandlers(), nil)
	do(s, newRequest("GET", "/v1/key_abc123", ""))
	do(s, newRequest("GET", "/v1/"+testKey, ""))
	s.logger.Warn("failed", "error", errors.New("bad key_abc123"))
	if strings.Contains(log.String(), "key_abc") || strings.Contains(log.String(), testKey) || strings.Count(log.String(), "REDACTED") != 3 {
		t.Errorf("got %s, want REDACTED for each key", log)
	}
	log.Reset()
	NewLogger(log, false, slog.LevelInfo, regexp.MustCompile("key_"), "first", "first-and-more").Info("first-and-more")
	if strings.Contains(log.String(), "more") {
		t.Errorf("a secret that begins with another: got %s, want it hidden", log)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	ready := error(nil)
	s, _ := newServer(t, newHandlers(), func(s *testService, o *Options) {
		o.Metrics = registry
		s.ready = func(context.Context) error { return ready }
	})
	do(s, newRequest("GET", "/v1/books", ""))
	do(s, newRequest("GET", "/v1/books?limit=0", ""))
	do(s, newRequest("GET", "/nowhere", ""))
	scrape := func() string {
		return do(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), newRequest("GET", "/metrics", "")).Body.String()
	}
	for _, want := range []string{`{operation="listBooks",status="200"} 1`, `{operation="listBooks",status="400"} 1`, `{operation="unknown",status="404"} 1`, "\nready 1\n"} {
		if got := scrape(); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s in it", got, want)
		}
	}
	ready = errors.New("away")
	if got := scrape(); !strings.Contains(got, "\nready 0\n") {
		t.Errorf("not ready: got %s, want 0", got)
	}
}
